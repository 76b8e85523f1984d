// layer_norm, rms_norm and l2_normalize, and the gradients of the last two: kernels of rows.
#include <cmath>

#include "runtime/cuda/kernels/rows/norms.h"
#include "runtime/cuda/kernels/rows/row_loop.h"

namespace cgraph::cuda {

template <typename T>
struct LayerNormRow {
  using C = Compute<T>;
  static constexpr int kOperands = 1;
  static __device__ void Run(const Row<T, 1>& row) {
    const C mean = MeanOf(row), scale = ScaleOf(row, mean);
    row.ForEach([&](int64_t i) {
      row.Store(i, device::Fma((row.X(0, i) - mean) * scale, row.Vector(1, i), row.Vector(2, i)));
    });
  }
};

template <typename T, int operands>
__device__ double SquaresOf(const Row<T, operands>& row) {
  return row.Sum([&](int64_t i) {
    const auto x = static_cast<double>(row.X(0, i));
    return x * x;
  });
}
template <typename T>
__device__ double ProductsOf(const Row<T, 2>& row) {
  return row.Sum([&](int64_t i) {
    return static_cast<double>(row.X(0, i)) * static_cast<double>(row.X(1, i));
  });
}

template <typename T>
struct RmsNormRow {
  using C = Compute<T>;
  static constexpr int kOperands = 1;
  static __device__ void Run(const Row<T, 1>& row) {
    const double squares = SquaresOf(row) / static_cast<double>(row.count());
    const C scale = static_cast<C>(1 / std::sqrt(squares + row.epsilon()));
    row.ForEach([&](int64_t i) { row.Store(i, row.X(0, i) * scale); });
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
    row.ForEach([&](int64_t i) { row.Store(i, scale * (row.X(1, i) - row.X(0, i) * back)); });
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
    row.ForEach([&](int64_t i) { row.Store(i, row.X(0, i) * scale); });
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
    row.ForEach([&](int64_t i) { row.Store(i, scale * (row.X(1, i) - row.X(0, i) * back)); });
  }
};

FOR_kFloat(ROW_KERNEL, LayerNorm)
FOR_kFloat(ROW_KERNEL, RmsNorm)
FOR_kFloat(ROW_KERNEL, RmsNormGrad)
FOR_kFloat(ROW_KERNEL, L2Normalize)
FOR_kFloat(ROW_KERNEL, L2NormalizeGrad)

}  // namespace cgraph::cuda
