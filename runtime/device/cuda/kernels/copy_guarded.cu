// Copies that look at poison: nothing is written where something that the copy depends on failed.
#include "runtime/device/cuda/kernels/device_code.h"

namespace cgraph::cuda {
namespace {

// Copies elements of one type, and what is left byte by byte.
template <typename T>
__device__ void CopyAs(void* to, const void* from, uint64_t bytes) {
  const uint64_t first = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const uint64_t step = static_cast<uint64_t>(gridDim.x) * blockDim.x;
  const uint64_t count = bytes / sizeof(T);
  for (uint64_t i = first; i < count; i += step) {
    static_cast<T*>(to)[i] = static_cast<const T*>(from)[i];
  }
  for (uint64_t i = count * sizeof(T) + first; i < bytes; i += step) {
    static_cast<char*>(to)[i] = static_cast<const char*>(from)[i];
  }
}

struct alignas(16) Quad {
  uint64_t low, high;
};

}  // namespace

// Copies as many elements of `width` bytes as `sized` has.
KERNEL(copy_guarded, (Guard guard, void* to, const void* from, View sized, uint32_t width)) {
  if (!Enter(guard)) return;
  uint64_t bytes = width;
  for (int d = 0; d < sized.rank; ++d) bytes *= static_cast<uint64_t>(ExtentOf(sized.dims[d]));
  const uint64_t both = reinterpret_cast<uint64_t>(to) | reinterpret_cast<uint64_t>(from);
  if (both % sizeof(Quad) == 0) {
    CopyAs<Quad>(to, from, bytes);
  } else if (both % sizeof(uint64_t) == 0) {
    CopyAs<uint64_t>(to, from, bytes);
  } else {
    CopyAs<char>(to, from, bytes);
  }
}

}  // namespace cgraph::cuda
