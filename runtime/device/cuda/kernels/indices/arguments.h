// What kernels take that work on rows by index, or read and add by index along a dimension.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_INDICES_ARGUMENTS_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_INDICES_ARGUMENTS_H_

#include "runtime/device/cuda/kernels/abi.h"
#include "runtime/device/cuda/kernels/order/arguments.h"

namespace cgraph::cuda {

// RowUses: the positions in the indices at which a row is named.
struct RowUses {
  unsigned long long count, first, last;
};

struct RowSums {
  View indices;
  const void* gradient = nullptr;  // a row for each index
  View out;
  RowUses* uses = nullptr;  // of each row of the result
};
static_assert(kDense<RowSums>);

// Element i of the result, along `dim`, is that of x at index i.
struct Taking {
  View x, index;
  void* out = nullptr;
  int64_t dim = 0;
};
static_assert(kDense<Taking>);

// Each element of the result is that of x, and behind it those of the source that the index sends
// there: `order` has the indices of each row in order, with their positions.
struct Adding {
  Ordering order;
  View x;
  const void* source = nullptr;
  void* out = nullptr;
};
static_assert(kDense<Adding>);

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_INDICES_ARGUMENTS_H_
