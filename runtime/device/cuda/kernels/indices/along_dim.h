// What kernels take that read and add by index along a dimension.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_INDICES_ALONG_DIM_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_INDICES_ALONG_DIM_H_

#include "runtime/device/cuda/kernels/order/arguments.h"

namespace cgraph::cuda {

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

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_INDICES_ALONG_DIM_H_
