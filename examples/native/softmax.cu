// The method of Softmax in on_gpu.cgraph as a CUDA kernel: softmax(x / temperature) of each row. It
// only gives the stream of the call its work. On CPU threads, where there is no stream, it loops.
//
//   nvcc -O2 -shared -Xcompiler -fPIC -arch=all-major -I runtime/include -o libsoftmax.so
//        examples/native/softmax.cu
#include <algorithm>
#include <cmath>

#include <cgraph_extern.h>

CGRAPH_EXTERN_LIBRARY
CGRAPH_EXTERN_CUDA

namespace {

constexpr int kWarp = 32;
constexpr int kRowsOfBlock = 8;  // a warp for each row

__device__ float MaxOfWarp(float value) {
  for (int step = kWarp / 2; step > 0; step /= 2) {
    value = fmaxf(value, __shfl_xor_sync(~0u, value, step));
  }
  return value;
}

__device__ float SumOfWarp(float value) {
  for (int step = kWarp / 2; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  return value;
}

__global__ void SoftmaxRows(const float* x, float* y, int64_t rows, int64_t width, float scale) {
  const int64_t row = int64_t{blockIdx.x} * kRowsOfBlock + threadIdx.y;
  if (row >= rows) return;
  x += row * width, y += row * width;
  float most = -INFINITY, sum = 0;
  for (int64_t i = threadIdx.x; i < width; i += kWarp) most = fmaxf(most, x[i] * scale);
  most = MaxOfWarp(most);
  for (int64_t i = threadIdx.x; i < width; i += kWarp) sum += expf(x[i] * scale - most);
  sum = SumOfWarp(sum);
  for (int64_t i = threadIdx.x; i < width; i += kWarp) y[i] = expf(x[i] * scale - most) / sum;
}

void SoftmaxRow(const float* x, float* y, int64_t width, float scale) {
  float sum = 0;
  const float most = *std::max_element(x, x + width) * scale;
  for (int64_t i = 0; i < width; ++i) sum += y[i] = std::exp(x[i] * scale - most);
  for (int64_t i = 0; i < width; ++i) y[i] /= sum;
}

// The object: what each place has of the actor's parameters.
struct Softmax {
  float scale;
};

}  // namespace

extern "C" void* Softmax_create(const cgraph_actor* actor) {
  const double temperature = *actor->parameters[0].real;
  if (!(temperature > 0)) return cgraph_fail_create(actor, "the temperature is not positive");
  if (actor->device.device_type == kDLCUDA) {  // loads the kernel, which takes the GPU long
    cudaFuncAttributes attributes;
    const cudaError_t error = cudaFuncGetAttributes(&attributes, SoftmaxRows);
    if (error != cudaSuccess) return cgraph_fail_create(actor, cudaGetErrorString(error));
  }
  return new Softmax{static_cast<float>(1 / temperature)};
}

extern "C" void Softmax_destroy(void* object) { delete static_cast<Softmax*>(object); }

extern "C" int32_t softmax_rows(const cgraph_call* call) {
  const float scale = static_cast<const Softmax*>(call->object)->scale;
  const DLTensor& tensor = call->arguments[0];
  const int64_t rows = tensor.shape[0], width = tensor.shape[1];
  const float* x = static_cast<const float*>(cgraph_data(&tensor));
  float* y = static_cast<float*>(cgraph_data(&call->results[0]));
  if (rows == 0 || width == 0) return 0;
  if (call->stream == nullptr) {
    for (int64_t i = 0; i < rows; ++i) SoftmaxRow(x + i * width, y + i * width, width, scale);
    return 0;
  }
  const auto blocks = static_cast<unsigned>((rows + kRowsOfBlock - 1) / kRowsOfBlock);
  const auto stream = static_cast<cudaStream_t>(call->stream);
  SoftmaxRows<<<blocks, dim3(kWarp, kRowsOfBlock), 0, stream>>>(x, y, rows, width, scale);
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? 0 : cgraph_fail(call, cudaGetErrorString(error));
}
