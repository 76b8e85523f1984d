// Dims: the extents of a tensor as plain numbers. A launch whose extents the host knows computes
// with them on the host, any other on the device.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_DIMS_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_DIMS_H_

#include "runtime/device/cuda/kernels/abi.h"
#include "runtime/device/numbers/targets.h"

namespace cgraph::cuda {

struct Dims {
  int64_t rank;
  int64_t of[kMaxRank];

  // The product of dims [first, last).
  constexpr int64_t Product(int first, int last) const {
    int64_t product = 1;
    CGRAPH_KEEP_LOOP for (int i = first; i < last; ++i) product *= of[i];
    return product;
  }
  constexpr int64_t elements() const { return Product(0, rank); }
};

// Returns the dims at their bounds.
constexpr Dims BoundsOf(const View& view) {
  Dims dims{view.rank, {}};
  CGRAPH_KEEP_LOOP for (int i = 0; i < view.rank; ++i) dims.of[i] = view.dims[i].number;
  return dims;
}

// Returns whether the host knows all extents.
constexpr bool IsKnown(const View& view) {
  CGRAPH_KEEP_LOOP for (int i = 0; i < view.rank; ++i) {
    if (view.dims[i].where != nullptr) return false;
  }
  return true;
}

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_DIMS_H_
