// Mean and scale of a row, which layer_norm and its gradient need.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ROWS_NORMS_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ROWS_NORMS_H_

#include <cmath>

#include "runtime/device/cuda/kernels/rows/row_loop.h"

namespace cgraph::cuda {

template <typename T, int operands>
__device__ Compute<T> MeanOf(const Row<T, operands>& row) {
  const double per = 1 / static_cast<double>(row.count());
  return static_cast<Compute<T>>(per * row.Sum([&](const auto& e) { return e.x[0]; }));
}
// Returns the factor that brings the deviations from the mean to unit variance.
template <typename T, int operands>
__device__ Compute<T> ScaleOf(const Row<T, operands>& row, Compute<T> mean) {
  using C = Compute<T>;
  const double per = 1 / static_cast<double>(row.count());
  const double squares = row.Sum([&](const auto& e) {
    const auto deviation = static_cast<double>(e.x[0] - mean);
    return deviation * deviation;
  });
  return C(1) / std::sqrt(static_cast<C>(squares * per + row.epsilon()));
}

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ROWS_NORMS_H_
