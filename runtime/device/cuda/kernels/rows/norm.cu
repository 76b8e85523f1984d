// layer_norm, rms_norm and l2_normalize, and the gradients of the last two: kernels of rows.
#include <cmath>

#include "runtime/device/cuda/kernels/rows/norms.h"
#include "runtime/device/cuda/kernels/rows/row_loop.h"

namespace cgraph::cuda {

template <typename T>
struct LayerNormRow {
  using C = Compute<T>;
  static constexpr int kOperands = 1;
  static __device__ void Run(const Row<T, 1>& row) {
    const C mean = MeanOf(row), scale = ScaleOf(row, mean);
    row.Store([&](const auto& e) {
      return device::Fma((e.x[0] - mean) * scale, row.Vector(1, e.index), row.Vector(2, e.index));
    });
  }
};

template <typename T, int operands>
__device__ double SquaresOf(const Row<T, operands>& row) {
  return row.Sum([&](const auto& e) {
    const auto x = static_cast<double>(e.x[0]);
    return x * x;
  });
}
template <typename T>
__device__ double ProductsOf(const Row<T, 2>& row) {
  return row.Sum([&](const auto& e) {
    return static_cast<double>(e.x[0]) * static_cast<double>(e.x[1]);
  });
}

template <typename T>
struct RmsNormRow {
  using C = Compute<T>;
  static constexpr int kOperands = 1;
  static __device__ void Run(const Row<T, 1>& row) {
    const double squares = SquaresOf(row) / static_cast<double>(row.count());
    const C scale = static_cast<C>(1 / std::sqrt(squares + row.epsilon()));
    row.Store([&](const auto& e) { return e.x[0] * scale; });
  }
};

// y = x * r with r = 1 / sqrt(mean(x * x) + epsilon), so gx = r * (gy - x * r * r * mean(x * gy)).
template <typename T>
struct RmsNormGradRow {
  using C = Compute<T>;
  static constexpr int kOperands = 2;
  static __device__ void Run(const Row<T, 2>& row) {
    const auto count = static_cast<double>(row.count());
    const double r = 1 / std::sqrt(SquaresOf(row) / count + row.epsilon());
    const double along = ProductsOf(row);
    const C scale = static_cast<C>(r), back = static_cast<C>(r * r * along / count);
    row.Store([&](const auto& e) { return scale * (e.x[1] - e.x[0] * back); });
  }
};

// x / max(|x|, epsilon)
template <typename T>
struct L2NormalizeRow {
  using C = Compute<T>;
  static constexpr int kOperands = 1;
  static __device__ void Run(const Row<T, 1>& row) {
    const double length = std::sqrt(SquaresOf(row));
    const C scale = static_cast<C>(1 / (length < row.epsilon() ? row.epsilon() : length));
    row.Store([&](const auto& e) { return e.x[0] * scale; });
  }
};

template <typename T>
struct L2NormalizeGradRow {
  using C = Compute<T>;
  static constexpr int kOperands = 2;
  static __device__ void Run(const Row<T, 2>& row) {
    const double length = std::sqrt(SquaresOf(row));
    const double along = ProductsOf(row);
    const bool small = length < row.epsilon();
    const C scale = static_cast<C>(1 / (small ? row.epsilon() : length));
    const C back = static_cast<C>(small ? 0 : along / (length * length));
    row.Store([&](const auto& e) { return scale * (e.x[1] - e.x[0] * back); });
  }
};

FOR_kFloat(ROW_KERNEL, LayerNorm)
FOR_kFloat(ROW_KERNEL, RmsNorm)
FOR_kFloat(ROW_KERNEL, RmsNormGrad)
FOR_kFloat(ROW_KERNEL, L2Normalize)
FOR_kFloat(ROW_KERNEL, L2NormalizeGrad)

}  // namespace cgraph::cuda
