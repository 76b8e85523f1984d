// softmax and log_softmax, their gradients from their results, and cross entropy: kernels of rows.
//
// A row whose greatest element is -inf has no distribution: it is NaN, as on the CPU.
#include "runtime/device/cuda/kernels/rows/row_loop.h"

namespace cgraph::cuda {

// exp(), for f16 and bf16 within a relative 2^-17, where the CPU takes f32's. The terms of a sum
// are positive, and the greatest is exactly 1, so the sum is as near.
template <typename T>
__device__ inline Compute<T> ExpFor(Compute<T> x) {
  if constexpr (kIsHalf<T>) return device::Exp::OfHalf(x);
  else return device::Exp::Of(x);
}

template <typename C>
__device__ inline C LogOfSum(double sum) { return static_cast<C>(std::log(sum)); }

template <typename T>
struct SoftmaxRow {
  using C = Compute<T>;
  static constexpr int kOperands = 1;
  static __device__ void Run(const Row<T, 1>& row) {
    const C most = row.Max();
    const auto share = [&](const auto& e) { return ExpFor<T>(e.x[0] - most); };
    const C scale = static_cast<C>(1 / row.SumAndKeep(share));
    row.Store([&](const auto& e) { return row.Kept(e, share) * scale; });
  }
};

template <typename T>
struct LogSoftmaxRow {
  using C = Compute<T>;
  static constexpr int kOperands = 1;
  static __device__ void Run(const Row<T, 1>& row) {
    const C most = row.Max();
    const double sum = row.Sum([&](const auto& e) { return ExpFor<T>(e.x[0] - most); });
    const C log_sum = LogOfSum<C>(sum);
    row.Store([&](const auto& e) { return (e.x[0] - most) - log_sum; });
  }
};

// gx = y * (gy - sum(y * gy))
template <typename T>
struct SoftmaxGradRow {
  using C = Compute<T>;
  static constexpr int kOperands = 2;
  static __device__ void Run(const Row<T, 2>& row) {
    const C sum = static_cast<C>(row.Sum([&](const auto& e) {
      return static_cast<double>(e.x[0]) * static_cast<double>(e.x[1]);
    }));
    row.Store([&](const auto& e) { return e.x[0] * (e.x[1] - sum); });
  }
};

// gx = gy - exp(y) * sum(gy)
template <typename T>
struct LogSoftmaxGradRow {
  using C = Compute<T>;
  static constexpr int kOperands = 2;
  static __device__ void Run(const Row<T, 2>& row) {
    const C sum = static_cast<C>(row.Sum([&](const auto& e) { return e.x[1]; }));
    row.Store([&](const auto& e) { return e.x[1] - device::Exp::Of(e.x[0]) * sum; });
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
    const double sum = row.Sum([&](const auto& e) { return ExpFor<T>(e.x[0] - most); });
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
    const auto share = [&](const auto& e) { return ExpFor<T>(e.x[0] - most); };
    const double sum = row.SumAndKeep(share);
    if (!row.exists()) return;
    const C scale = static_cast<C>(1 / sum), gradient = Widened(gradients[row.row()]);
    const int64_t target = targets[row.row()];
    row.Store([&](const auto& e) {
      const C likely = row.Kept(e, share) * scale;
      return (e.index == target ? likely - 1 : likely) * gradient;
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
