// What the kernels take that add up the gradients of layer_norm's gain and bias over all rows.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ROWS_COLUMN_SUMS_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ROWS_COLUMN_SUMS_H_

#include "runtime/device/cuda/kernels/abi.h"

namespace cgraph::cuda {

struct ColumnSums {
  View x;
  const void* gy = nullptr;
  const void* statistics = nullptr;  // mean and scale of each row
  void* gain = nullptr;              // the results
  void* bias = nullptr;
  double* partials = nullptr;        // [parts, 2, columns]: of gain, then of bias
  int64_t parts = 1;                 // into which the rows are cut
};
static_assert(kDense<ColumnSums>);

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ROWS_COLUMN_SUMS_H_
