// A library whose methods give a GPU's stream work by the driver's functions. The object of a place
// has memory of the GPU, and a stream of its own that waits for no other.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include <cgraph_extern.h>
#include <cuda.h>

CGRAPH_EXTERN_LIBRARY
CGRAPH_EXTERN_CUDA

namespace {

constexpr size_t kRoom = 4096;  // of an object's memory

struct GpuTrial {
  std::string place;
  int device = 0;
  CUdeviceptr memory = 0;
  CUstream astray = nullptr;
  long calls = 0;
};

// What the method is to do, by its parameter `how`.
bool Is(const cgraph_call* call, const char* how) {
  return std::strcmp(call->parameters[0].text, how) == 0;
}

CUdeviceptr AddressOf(const DLTensor& tensor, int64_t row = 0) {
  const int64_t width = tensor.ndim < 2 ? 1 : tensor.shape[1];
  return reinterpret_cast<CUdeviceptr>(cgraph_data(&tensor)) +
         static_cast<CUdeviceptr>(row * width) * (tensor.dtype.bits / 8);
}

size_t BytesOf(const DLTensor& tensor) {
  return static_cast<size_t>(cgraph_size(&tensor)) * (tensor.dtype.bits / 8);
}

// Appends copies that move each row of `x` one up, and the first one to the end.
CUresult AppendRoll(const DLTensor& x, const DLTensor& y, CUstream stream) {
  const int64_t rows = x.shape[0];
  if (rows == 0) return CUDA_SUCCESS;
  const size_t row = BytesOf(x) / static_cast<size_t>(rows);
  const CUresult first = cuMemcpyAsync(AddressOf(y, rows - 1), AddressOf(x, 0), row, stream);
  if (first != CUDA_SUCCESS || rows == 1) return first;
  return cuMemcpyAsync(AddressOf(y, 0), AddressOf(x, 1), BytesOf(x) - row, stream);
}

int32_t Failed(const cgraph_call* call, CUresult result) {
  const char* name = nullptr;
  if (result == CUDA_SUCCESS) return 0;
  cuGetErrorName(result, &name);
  return cgraph_fail(call, name != nullptr ? name : "an error of the driver");
}

}  // namespace

extern "C" {

void* GpuTrial_create(const cgraph_actor* actor) {
  if (actor->device.device_type != kDLCUDA) return cgraph_fail_create(actor, "no GPU's place");
  if (std::strcmp(actor->place, "refused") == 0) return cgraph_fail_create(actor, "as asked");
  auto* trial = new GpuTrial{actor->place, actor->device.device_id};
  if (cuMemAlloc(&trial->memory, kRoom) != CUDA_SUCCESS ||
      cuMemsetD8(trial->memory, 0, kRoom) != CUDA_SUCCESS ||
      cuStreamSynchronize(nullptr) != CUDA_SUCCESS ||
      cuStreamCreateWithPriority(&trial->astray, CU_STREAM_NON_BLOCKING, 0) != CUDA_SUCCESS) {
    delete trial;
    return cgraph_fail_create(actor, "no memory, or no stream");
  }
  std::fprintf(stderr, "created: %s\n", actor->place);
  return trial;
}

void GpuTrial_destroy(void* object) {
  auto* trial = static_cast<GpuTrial*>(object);
  const bool freed =
      cuMemFree(trial->memory) == CUDA_SUCCESS && cuStreamDestroy(trial->astray) == CUDA_SUCCESS;
  std::fprintf(stderr, "destroyed: %s, calls %ld%s\n", trial->place.c_str(), trial->calls,
               freed ? "" : ", not freed");
  delete trial;
}

// What an object keeps is the memory of its GPU.
int32_t GpuTrial_save(void* object, const cgraph_saving* saving) {
  char bytes[kRoom];
  if (cuMemcpyDtoH(bytes, static_cast<GpuTrial*>(object)->memory, kRoom) != CUDA_SUCCESS) return 1;
  saving->write(saving->to, bytes, kRoom);
  return 0;
}
int32_t GpuTrial_restore(void* object, const cgraph_restoring* restoring) {
  if (restoring->size != kRoom) return 1;
  const CUdeviceptr memory = static_cast<GpuTrial*>(object)->memory;
  return cuMemcpyHtoD(memory, restoring->data, kRoom) == CUDA_SUCCESS ? 0 : 1;
}

int32_t gpu_roll(const cgraph_call* call) {
  auto* trial = static_cast<GpuTrial*>(call->object);
  const DLTensor &x = call->arguments[0], &y = call->results[0];
  ++trial->calls;
  if (call->stream == nullptr) return cgraph_fail(call, "there is no stream");
  if (x.device.device_type != kDLCUDA || x.device.device_id != trial->device) {
    return cgraph_fail(call, "the tensors are not of the place's GPU");
  }
  auto stream = static_cast<CUstream>(call->stream);
  if (Is(call, "sleep")) sleep(20);
  if (Is(call, "throw")) throw "not an exception";
  if (Is(call, "astray")) stream = trial->astray;
  const int32_t failed = Failed(call, AppendRoll(x, y, stream));
  if (Is(call, "another context")) cuCtxSetCurrent(nullptr);
  return Is(call, "error") ? cgraph_fail(call, "an error, as asked") : failed;
}

// The result is what the last call of the place was given; at first zeros.
int32_t gpu_last(const cgraph_call* call) {
  auto* trial = static_cast<GpuTrial*>(call->object);
  const DLTensor &x = call->arguments[0], &y = call->results[0];
  auto stream = static_cast<CUstream>(call->stream);
  ++trial->calls;
  if (BytesOf(x) > kRoom) return cgraph_fail(call, "the object has no room for it");
  const CUresult out = cuMemcpyAsync(AddressOf(y), trial->memory, BytesOf(x), stream);
  return Failed(call, out != CUDA_SUCCESS
                          ? out
                          : cuMemcpyAsync(trial->memory, AddressOf(x), BytesOf(x), stream));
}

// Writes the first two numbers of x to the state, whose third one stays; may fail behind that.
int32_t gpu_learn(const cgraph_call* call) {
  auto* trial = static_cast<GpuTrial*>(call->object);
  ++trial->calls;
  const DLTensor &x = call->arguments[0], &state = call->states[0];
  const int32_t failed =
      Failed(call, cuMemcpyAsync(AddressOf(state), AddressOf(x), 2 * sizeof(float),
                                 static_cast<CUstream>(call->stream)));
  return Is(call, "error") ? cgraph_fail(call, "an error, as asked") : failed;
}

// Writes the state to standard error, which waits for the stream.
int32_t gpu_show(const cgraph_call* call) {
  float bias[3] = {};
  CUresult result = cuStreamSynchronize(static_cast<CUstream>(call->stream));
  if (result == CUDA_SUCCESS) result = cuMemcpyDtoH(bias, AddressOf(call->states[0]), sizeof bias);
  std::fprintf(stderr, "bias %g %g %g\n", bias[0], bias[1], bias[2]);
  return Failed(call, result);
}

}  // extern "C"
