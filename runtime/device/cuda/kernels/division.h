// How a block's threads are divided between columns of elements that are reduced, and the elements
// of a column. It depends on bounds and on nothing else, so that every device adds in the same
// order.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_DIVISION_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_DIVISION_H_

#include <algorithm>
#include <bit>
#include <cstdint>

#include "runtime/device/cuda/kernels/abi.h"

namespace cgraph::cuda {

// The threads of a block: `width` columns, each by `height` threads, both powers of two.
// Neighbouring threads are in one column where columns are contiguous, else in neighbouring
// columns.
struct Division {
  int32_t width = 1, height = 1;
  int32_t contiguous = false;

  int64_t Groups(int64_t columns) const { return columns / width + (columns % width != 0); }
};

// A thread has `pack` neighbouring elements of a column, and then those that are a multiple of
// height * pack further. A contiguous column has threads until each has at most `most` elements, or
// all threads of the block are its own; `most` has no effect on other columns.
inline Division DivisionOf(int64_t columns, int64_t along, bool contiguous, int64_t pack,
                           int64_t most) {
  const auto power_at_least = [](int64_t x) {
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(x, 1))));
  };
  int64_t height;
  if (contiguous) {
    height = std::min<int64_t>(power_at_least((along + pack - 1) / pack), kWarpThreads);
    while (height < kThreads && along > height * most) height *= 2;
  } else {
    height = kThreads / std::min<int64_t>(power_at_least(columns), kWarpThreads);
    while (height > 1 && along <= 2 * pack * height) height /= 2;
  }
  return {static_cast<int32_t>(kThreads / height), static_cast<int32_t>(height), contiguous};
}

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_DIVISION_H_
