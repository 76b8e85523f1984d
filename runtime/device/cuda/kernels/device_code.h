// What device code is written in. nvcc compiles it for GPUs; the tests' emulation compiles the same
// sources for the host, and gives this header another one instead of CUDA's (CGRAPH_EMULATED_GRID).
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_DEVICE_CODE_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_DEVICE_CODE_H_

#ifdef CGRAPH_EMULATED_GRID
#include CGRAPH_EMULATED_GRID  // __global__, threadIdx, __syncthreads, shuffles, ... for the host
#else
// KERNEL(name, (parameters)) { body }: a kernel that the host finds by its name.
#define KERNEL(name, parameters) extern "C" __global__ void name parameters
#endif

#include "runtime/device/cuda/kernels/abi.h"

namespace cgraph::cuda {

// Returns the extent, from 0 to its bound whatever lies in memory.
__device__ inline int64_t ExtentOf(const Extent& extent) {
  if (extent.where == nullptr) return extent.number;
  const int64_t number = *extent.where;
  return number < 0 ? 0 : number > extent.number ? extent.number : number;
}

__device__ inline bool Poisoned(const Guard& guard, uint32_t flag) {
  const uint32_t number = flag & ~kElsewhere;
  const uint8_t* flags = (flag & kElsewhere) != 0 ? guard.host_flags : guard.flags;
  return *const_cast<const volatile uint8_t*>(flags + number) != 0;
}

__device__ inline void Poison(const Guard& guard) {
  *const_cast<volatile uint8_t*>(guard.flags + guard.own) = 1;
  *const_cast<volatile uint8_t*>(guard.host_flags + guard.own) = 1;
}

// Fails the operation. One thread of a check kernel calls this, at most once; the grids behind it
// find the operation's own flag set.
__device__ inline void Fail(const Guard& guard, uint32_t code, int64_t a = 0, int64_t b = 0,
                            int64_t c = 0, int64_t d = 0) {
  FailureLog* log = guard.log;
  const uint64_t count = *const_cast<volatile uint64_t*>(&log->count);
  Failure& entry = log->entries[count % log->room];
  entry.graph = guard.graph;
  entry.step = guard.step;
  entry.frame = guard.frame;
  entry.code = code;
  entry.numbers[0] = a;
  entry.numbers[1] = b;
  entry.numbers[2] = c;
  entry.numbers[3] = d;
  __threadfence_system();
  *const_cast<volatile uint64_t*>(&log->count) = count + 1;
  Poison(guard);
}

// Returns whether the operation is to be done; the same for all threads of a grid. Where something
// that it checks is poisoned, its own flag is set; where an extent is beyond its bound, it fails.
__device__ inline bool Enter(const Guard& guard) {
  if (!guard.looks) return true;
  bool poisoned = false;
  for (uint32_t i = 0; i < guard.count; ++i) poisoned |= Poisoned(guard, guard.checks[i]);
  if (poisoned) Poison(guard);
  if (poisoned || Poisoned(guard, guard.own)) return false;
  const bool first = blockIdx.x + blockIdx.y + blockIdx.z + threadIdx.x + threadIdx.y +
                     threadIdx.z == 0;
  for (uint32_t i = 0; i < guard.bound_count; ++i) {
    const Bound& bound = guard.bounds[i];
    const int64_t extent = *bound.where;
    if (extent >= 0 && extent <= bound.most) continue;
    if (first) Fail(guard, kBeyondBound, bound.dim, extent);
    return false;
  }
  return true;
}

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_DEVICE_CODE_H_
