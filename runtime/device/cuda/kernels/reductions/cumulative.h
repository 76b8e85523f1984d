// What kernels of cumulative sums take.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_REDUCTIONS_CUMULATIVE_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_REDUCTIONS_CUMULATIVE_H_

#include "runtime/device/cuda/kernels/rows/arguments.h"

namespace cgraph::cuda {

inline constexpr int kJoiningThreads = 256;  // of a block that joins the parts of a row

// Rows are cut into parts of `length` elements, of which a thread each adds up what there is; then
// each part begins with the sum of those before it.
struct Cumulative {
  View x;
  void* out = nullptr;
  void* sums = nullptr;  // [parts, rows] of 8 bytes; not used where there is one part
  int32_t dim = 0;
  int32_t from_end = false;
  int64_t parts = 1, length = 0;
};
static_assert(kDense<Cumulative>);

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_REDUCTIONS_CUMULATIVE_H_
