// softmax and log_softmax, their gradients from their results, and cross entropy: kernels of rows.
//
// A row whose greatest element is -inf has no distribution: it is NaN, as on the CPU.
#include "runtime/cuda/kernels/rows/row_loop.h"

namespace cgraph::cuda {

using device::Exp;

template <typename C>
__device__ inline C LogOfSum(double sum) { return static_cast<C>(std::log(sum)); }

template <typename T>
struct SoftmaxRow {
  using C = Compute<T>;
  static constexpr int kOperands = 1;
  static __device__ void Run(const Row<T, 1>& row) {
    const C most = row.Max();
    const double sum = row.Sum([&](int64_t i) { return Exp::Of(row.X(0, i) - most); });
    const C scale = static_cast<C>(1 / sum);
    row.ForEach([&](int64_t i) { row.Store(i, Exp::Of(row.X(0, i) - most) * scale); });
  }
};

template <typename T>
struct LogSoftmaxRow {
  using C = Compute<T>;
  static constexpr int kOperands = 1;
  static __device__ void Run(const Row<T, 1>& row) {
    const C most = row.Max();
    const double sum = row.Sum([&](int64_t i) { return Exp::Of(row.X(0, i) - most); });
    const C log_sum = LogOfSum<C>(sum);
    row.ForEach([&](int64_t i) { row.Store(i, (row.X(0, i) - most) - log_sum); });
  }
};

// gx = y * (gy - sum(y * gy))
template <typename T>
struct SoftmaxGradRow {
  using C = Compute<T>;
  static constexpr int kOperands = 2;
  static __device__ void Run(const Row<T, 2>& row) {
    const C sum = static_cast<C>(row.Sum([&](int64_t i) {
      return static_cast<double>(row.X(0, i)) * static_cast<double>(row.X(1, i));
    }));
    row.ForEach([&](int64_t i) { row.Store(i, row.X(0, i) * (row.X(1, i) - sum)); });
  }
};

// gx = gy - exp(y) * sum(gy)
template <typename T>
struct LogSoftmaxGradRow {
  using C = Compute<T>;
  static constexpr int kOperands = 2;
  static __device__ void Run(const Row<T, 2>& row) {
    const C sum = static_cast<C>(row.Sum([&](int64_t i) { return row.X(1, i); }));
    row.ForEach([&](int64_t i) { row.Store(i, row.X(1, i) - Exp::Of(row.X(0, i)) * sum); });
  }
};

// The rows are those of the logits; operand 1 has the class of each that should have been likely.
template <typename T>
struct CrossEntropyRow {
  using C = Compute<T>;
  static constexpr int kOperands = 1;
  const int64_t* targets;
  T* out;

  __device__ void Run(const Row<T, 1>& row) const {
    const C most = row.Max();
    const double sum = row.Sum([&](int64_t i) { return Exp::Of(row.X(0, i) - most); });
    if (!row.leads()) return;
    out[row.row()] =
        Stored<T>((most + LogOfSum<C>(sum)) - row.Read(0, targets[row.row()]));
  }
};

// As CrossEntropyRow; operand 2 has the gradient of each row's result.
template <typename T>
struct CrossEntropyGradRow {
  using C = Compute<T>;
  static constexpr int kOperands = 1;
  const int64_t* targets;
  const T* gradients;

  __device__ void Run(const Row<T, 1>& row) const {
    const C most = row.Max();
    const double sum = row.Sum([&](int64_t i) { return Exp::Of(row.X(0, i) - most); });
    if (!row.exists()) return;
    const C scale = static_cast<C>(1 / sum), gradient = Widened(gradients[row.row()]);
    const int64_t target = targets[row.row()];
    row.ForEach([&](int64_t i) {
      const C share = Exp::Of(row.X(0, i) - most) * scale;
      row.Store(i, (i == target ? share - 1 : share) * gradient);
    });
  }
};

FOR_kFloat(ROW_KERNEL, Softmax)
FOR_kFloat(ROW_KERNEL, LogSoftmax)
FOR_kFloat(ROW_KERNEL, SoftmaxGrad)
FOR_kFloat(ROW_KERNEL, LogSoftmaxGrad)

#define CROSS_ENTROPY_KERNEL(dtype, type, ...)                                              \
  KERNEL(CrossEntropy_##dtype, (Guard guard, const __grid_constant__ Rows rows)) {          \
    if (!Enter(guard)) return;                                                              \
    ForEachRow<type>(rows, CrossEntropyRow<type>{                                           \
                               static_cast<const int64_t*>(rows.in[1].data),                \
                               static_cast<type*>(rows.out.data)});                         \
  }                                                                                         \
  KERNEL(CrossEntropyGrad_##dtype, (Guard guard, const __grid_constant__ Rows rows)) {      \
    if (!Enter(guard)) return;                                                              \
    ForEachRow<type>(rows, CrossEntropyGradRow<type>{                                       \
                               static_cast<const int64_t*>(rows.in[1].data),                \
                               static_cast<const type*>(rows.in[2].data)});                 \
  }
FOR_kFloat(CROSS_ENTROPY_KERNEL)

}  // namespace cgraph::cuda
