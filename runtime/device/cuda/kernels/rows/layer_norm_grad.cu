// The gradients of layer_norm, by four grids. The first finds mean and scale of each row; the
// second adds up the gradients of gain and bias, each part of the rows by itself; the third makes
// the gradient of x; the last joins the parts. Results are written after all that is read of
// operands by other grids, so they may lie where operands do.
#include "runtime/device/cuda/kernels/pack.h"
#include "runtime/device/cuda/kernels/rows/arguments.h"
#include "runtime/device/cuda/kernels/rows/norms.h"

namespace cgraph::cuda {

template <typename T>
struct LayerNormStatisticsRow {
  using C = Compute<T>;
  static constexpr int kOperands = 1;
  C* statistics;

  __device__ void Run(const Row<T, 1>& row) const {
    const C mean = MeanOf(row), scale = ScaleOf(row, mean);
    if (!row.leads()) return;
    statistics[2 * row.row()] = mean;
    statistics[2 * row.row() + 1] = scale;
  }
};

// Operands: x, gy, and the vector gain.
template <typename T>
struct LayerNormGradRow {
  using C = Compute<T>;
  static constexpr int kOperands = 2;
  const C* statistics;

  __device__ void Run(const Row<T, 2>& row) const {
    const bool exists = row.exists();
    const C mean = exists ? statistics[2 * row.row()] : C(0);
    const C scale = exists ? statistics[2 * row.row() + 1] : C(0);
    const auto count = static_cast<double>(row.count());
    const double g_mean =
        row.Sum([&](const auto& e) { return e.x[1] * row.Vector(2, e.index); }) / count;
    const double along = row.Sum([&](const auto& e) {
      return static_cast<double>(e.x[1] * row.Vector(2, e.index)) *
             static_cast<double>((e.x[0] - mean) * scale);
    }) / count;
    const C level = static_cast<C>(g_mean), back = static_cast<C>(along);
    row.Store([&](const auto& e) {
      const C normal = (e.x[0] - mean) * scale;
      return scale * (e.x[1] * row.Vector(2, e.index) - level - normal * back);
    });
  }
};

template <typename T>
__device__ void AddUpColumns(const ColumnSums& sums) {
  using C = Compute<T>;
  __shared__ int64_t rows, count;
  if (threadIdx.x == 0) {
    const Dims x = DimsOf(sums.x);
    rows = x.Product(0, x.rank - 1);
    count = x.of[x.rank - 1];
  }
  __syncthreads();
  const auto* x = static_cast<const T*>(sums.x.data);
  const auto* gy = static_cast<const T*>(sums.gy);
  const auto* statistics = static_cast<const C*>(sums.statistics);
  const int64_t length = (rows + sums.parts - 1) / sums.parts;
  const int64_t columns = (count + kThreads - 1) / kThreads * kThreads;
  for (int64_t i = GridThread(); i < columns * sums.parts; i += GridThreads()) {
    const Quotient part = Divided(i, columns);
    const int64_t column = part.rest;
    if (column >= count) continue;
    const int64_t first = part.whole * length;
    const int64_t end = first + length < rows ? first + length : rows;
    double gain = 0, bias = 0;
#pragma unroll 4
    for (int64_t row = first; row < end; ++row) {
      const C normal = (Widened(x[row * count + column]) - statistics[2 * row]) *
                       statistics[2 * row + 1];
      const C g = Widened(gy[row * count + column]);
      gain += static_cast<double>(g) * static_cast<double>(normal);
      bias += static_cast<double>(g);
    }
    sums.partials[(2 * part.whole) * count + column] = gain;
    sums.partials[(2 * part.whole + 1) * count + column] = bias;
  }
}

template <typename T>
__device__ void JoinColumns(const ColumnSums& sums) {
  const int64_t count = ExtentOf(sums.x.dims[sums.x.rank - 1]);
  for (int64_t i = GridThread(); i < 2 * count; i += GridThreads()) {
    double sum = 0;
    for (int64_t part = 0; part < sums.parts; ++part) {
      sum += sums.partials[2 * part * count + i];
    }
    auto* to = static_cast<T*>(i < count ? sums.gain : sums.bias);
    to[i < count ? i : i - count] = static_cast<T>(sum);
  }
}

#define LAYER_NORM_GRAD_KERNELS(dtype, type, ...)                                             \
  KERNEL(LayerNormStatistics_##dtype, (Guard guard, const __grid_constant__ Rows rows)) {     \
    if (!Enter(guard)) return;                                                                \
    ForEachRow<type>(rows, LayerNormStatisticsRow<type>{                                      \
                               static_cast<Compute<type>*>(rows.statistics)});                \
  }                                                                                           \
  KERNEL(LayerNormGrad_##dtype, (Guard guard, const __grid_constant__ Rows rows)) {           \
    if (!Enter(guard)) return;                                                                \
    ForEachRow<type>(rows, LayerNormGradRow<type>{                                            \
                               static_cast<const Compute<type>*>(rows.statistics)});          \
  }                                                                                           \
  KERNEL(LayerNormColumns_##dtype, (Guard guard, const __grid_constant__ ColumnSums sums)) {  \
    if (Enter(guard)) AddUpColumns<type>(sums);                                               \
  }                                                                                           \
  KERNEL(LayerNormJoined_##dtype, (Guard guard, const __grid_constant__ ColumnSums sums)) {   \
    if (Enter(guard)) JoinColumns<type>(sums);                                                \
  }
FOR_kFloat(LAYER_NORM_GRAD_KERNELS)

}  // namespace cgraph::cuda
