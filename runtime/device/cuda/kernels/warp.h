// What the threads of a warp make together. All of them call these.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_WARP_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_WARP_H_

#include <bit>
#include <cstdint>

#include "runtime/device/cuda/kernels/abi.h"
#include "runtime/device/cuda/kernels/device_code.h"

namespace cgraph::cuda {

// Returns the value of the thread whose number differs from this one's by the bits of `lanes`.
template <typename T>
__device__ inline T FromLane(const T& value, int lanes) {
  struct Parts {
    uint32_t of[sizeof(T) / 4];
  };
  auto parts = std::bit_cast<Parts>(value);
#pragma unroll
  for (uint32_t& part : parts.of) part = __shfl_xor_sync(0xffffffff, part, lanes);
  return std::bit_cast<T>(parts);
}

// Joins the values of `threads` neighbours, a power of two, in a tree: each of them has the whole.
template <typename T, typename Join>
__device__ inline T JoinedInWarp(T value, int threads, Join join) {
  for (int lanes = threads / 2; lanes > 0; lanes /= 2) value = join(value, FromLane(value, lanes));
  return value;
}

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_WARP_H_
