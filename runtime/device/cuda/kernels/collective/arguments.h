// What kernels take that compute what the ranks of a collective get.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_COLLECTIVE_ARGUMENTS_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_COLLECTIVE_ARGUMENTS_H_

#include "runtime/device/cuda/kernels/abi.h"

namespace cgraph::cuda {

inline constexpr int kMostMembers = 256;

// out[i] = from[0][first + i] ? from[1][first + i] ? ... for the elements of one rank's part.
struct Across {
  const void* from[kMostMembers] = {};
  int64_t members = 0;
  int64_t rank = 0;  // whose part is read: it begins at rank times the part's elements
  Extent elements;   // of a part
  void* out = nullptr;
};
static_assert(kDense<Across>);

// Copies a part: number `from_part` of one tensor becomes number `to_part` of another.
struct PartCopy {
  const void* from = nullptr;
  void* to = nullptr;
  int64_t from_part = 0, to_part = 0;
  Extent elements;    // of a part
  int64_t width = 1;  // bytes of an element
};
static_assert(kDense<PartCopy>);

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_COLLECTIVE_ARGUMENTS_H_
