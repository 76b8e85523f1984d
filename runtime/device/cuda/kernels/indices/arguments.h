// What kernels take that work on rows by index.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_INDICES_ARGUMENTS_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_INDICES_ARGUMENTS_H_

#include "runtime/device/cuda/kernels/abi.h"

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

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_INDICES_ARGUMENTS_H_
