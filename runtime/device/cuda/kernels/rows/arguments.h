// What kernels that work on rows take.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ROWS_ARGUMENTS_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ROWS_ARGUMENTS_H_

#include "runtime/device/cuda/kernels/abi.h"
#include "runtime/device/cuda/kernels/dims.h"

namespace cgraph::cuda {

// The rows of a tensor along a dimension: element i of row r lies at
// (r / inner * along + i) * inner + r % inner.
struct RowShape {
  int64_t rows, along, inner;
};
constexpr RowShape RowsOf(const Dims& dims, int dim) {
  const int64_t inner = dims.Product(dim + 1, dims.rank);
  return {dims.Product(0, dim) * inner, dims.of[dim], inner};
}

// Returns how many elements of each operand a thread can keep in shared memory, where each takes
// `bytes`.
constexpr int KeptElements(int operands, int bytes) {
  constexpr int kKeptBytes = 32768;  // of shared memory: several blocks have room side by side
  return kKeptBytes / (kThreads * operands * bytes);
}

struct Rows {
  View in[3];
  View out;
  View x;           // whose rows these are: an operand or the result
  int32_t dim = 0;  // of x, along which rows lie
  // The threads of a block: `width` rows, each by `height` threads. Neighbouring threads are in one
  // row where rows are contiguous, else in neighbouring rows.
  int32_t width = 1, height = 1;
  int32_t contiguous = false;
  double epsilon = 0;
  void* statistics = nullptr;  // of layer_norm_grad: mean and scale of each row
};
static_assert(sizeof(Rows) == 5 * sizeof(View) + 4 * sizeof(int32_t) + sizeof(double) +
                                  sizeof(void*));  // no padding

// What the kernels take that add up the gradients of layer_norm's gain and bias over all rows.
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

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ROWS_ARGUMENTS_H_
