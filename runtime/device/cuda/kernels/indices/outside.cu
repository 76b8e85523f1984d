// The check of indices, by one block: the first that lies outside, as the CPU finds it.
#include "runtime/device/cuda/kernels/device_numbers.h"

namespace cgraph::cuda {

KERNEL(CheckIndices, (Guard guard, View indices, Extent limit)) {
  if (!Enter(guard)) return;
  __shared__ int64_t first[256];
  const auto* index = static_cast<const int64_t*>(indices.data);
  const int64_t count = ElementsOf(indices), most = ExtentOf(limit);
  const int thread = static_cast<int>(threadIdx.x);
  int64_t found = count;
  for (int64_t i = thread; i < count; i += blockDim.x) {
    if (index[i] >= 0 && index[i] < most) continue;
    found = i;
    break;
  }
  first[thread] = found;
  __syncthreads();
  for (int step = static_cast<int>(blockDim.x) / 2; step > 0; step /= 2) {
    if (thread < step && first[thread + step] < first[thread]) first[thread] = first[thread + step];
    __syncthreads();
  }
  if (thread == 0 && first[0] < count) Fail(guard, 0, first[0], index[first[0]], most);
}

}  // namespace cgraph::cuda
