// softmax and log_softmax along a dimension, their gradients from their results, and cross entropy.
//
// A row whose greatest element is -inf has no distribution: it is NaN, as in NumPy and PyTorch.
#include <cmath>

#include "runtime/device/cpu/kernels/elementwise/elementwise_ops.h"
#include "runtime/device/cpu/kernels/failures.h"
#include "runtime/device/cpu/kernels/rows/rows.h"

namespace cgraph::device {
namespace {

// NaN is never the greatest element, but exp takes it into the sum. The greatest element is
// subtracted first, so that exp cannot overflow; the sum is at least 1 then.
template <typename C>
struct SoftmaxRow {
  CGRAPH_INLINE static void Run(const C* const* in, C* y, int64_t count, double) {
    const C* x = in[0];
    const C most = MaxOfRow(x, count);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) y[i] = Exp::Of(x[i] - most);
    const double sum = SumOver<C>(count, [y](C sum, int64_t i) { return sum + y[i]; });
    const C scale = static_cast<C>(1 / sum);
    for (int64_t i = 0; i < count; ++i) y[i] *= scale;
  }
};

template <typename C>
CGRAPH_INLINE C LogOfSumOfExp(const C* x, C* scratch, int64_t count) {
  const C most = MaxOfRow(x, count);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) scratch[i] = Exp::Of(x[i] - most);
  const double sum = SumOver<C>(count, [=](C sum, int64_t i) { return sum + scratch[i]; });
  return most + static_cast<C>(std::log(sum));
}

template <typename C>
struct LogSoftmaxRow {
  CGRAPH_INLINE static void Run(const C* const* in, C* y, int64_t count, double) {
    const C* x = in[0];
    // Works in blocks, since the result may lie where x does.
    constexpr int64_t kPart = 256;
    C scratch[kPart];
    const C most = MaxOfRow(x, count);
    double sum = 0;
    for (int64_t first = 0; first < count; first += kPart) {
      const int64_t size = count - first < kPart ? count - first : kPart;
      for (int64_t i = 0; i < size; ++i) scratch[i] = Exp::Of(x[first + i] - most);
      sum += SumOver<C>(size, [&](C part, int64_t i) { return part + scratch[i]; });
    }
    const C log_sum = static_cast<C>(std::log(sum));
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) y[i] = (x[i] - most) - log_sum;
  }
};

// gx = y * (gy - sum(y * gy))
template <typename C>
struct SoftmaxGradRow {
  CGRAPH_INLINE static void Run(const C* const* in, C* gx, int64_t count, double) {
    const C* y = in[0];
    const C* gy = in[1];
    const C sum = static_cast<C>(
        SumOver<C>(count, [=](C sum, int64_t i) { return Fma(y[i], gy[i], sum); }));
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) gx[i] = y[i] * (gy[i] - sum);
  }
};

// gx = gy - exp(y) * sum(gy)
template <typename C>
struct LogSoftmaxGradRow {
  CGRAPH_INLINE static void Run(const C* const* in, C* gx, int64_t count, double) {
    const C* y = in[0];
    const C* gy = in[1];
    const C sum = static_cast<C>(SumOver<C>(count, [=](C sum, int64_t i) { return sum + gy[i]; }));
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) gx[i] = gy[i] - Exp::Of(y[i]) * sum;
  }
};

template <typename C>
using SoftmaxRows = OneByOne<SoftmaxRow<C>, C, 1>;
template <typename C>
using LogSoftmaxRows = OneByOne<LogSoftmaxRow<C>, C, 1>;
template <typename C>
using SoftmaxGradRows = OneByOne<SoftmaxGradRow<C>, C, 2>;
template <typename C>
using LogSoftmaxGradRows = OneByOne<LogSoftmaxGradRow<C>, C, 2>;

template <template <typename> typename Rows>
KernelResult MakeAlong(const Request& request, size_t inputs) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, inputs, 1));
  CGRAPH_RETURN_IF_ERROR(ExpectOneDType(request));
  for (const OperandType& input : request.inputs) {
    CGRAPH_RETURN_IF_ERROR(ExpectSameDims(request, input, request.outputs[0]));
  }
  Result<int> dim = DimAttribute(request, "dim", request.inputs[0]);
  if (!dim.ok()) return dim.status();
  return MakeRows<Rows>(request, static_cast<int>(inputs), *dim, 0);
}

// Kernel over the rows of a matrix of logits, each with the class that should have been likely.
template <typename T>
class CrossEntropyKernel final : public Kernel {
 public:
  using C = Compute<T>;
  CrossEntropyKernel(const Request& request, bool gradient)
      : gradient_(gradient), half_(HalfLoopsOf(request.inputs[0].dtype)) {
    const OperandType& logits = request.inputs[0];
    workspace_.resize(2 * static_cast<size_t>(logits.dims[logits.rank - 1]));
  }

  bool Run(std::span<const Tensor> inputs, std::span<const Tensor> outputs, void*,
           std::string& error) override {
    const Tensor& logits = inputs[0];
    const int64_t classes = logits.dims[logits.rank - 1];
    const int64_t rows = Product(logits, 0, logits.rank - 1);
    const RowAccess<T> access{1, half_};
    C* row = workspace_.data();
    C* work = row + classes;
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t target = inputs[1].as<int64_t>()[r];
      if (target < 0 || target >= classes) {
        error = NoClassText(r, target, classes);
        return false;
      }
      access.Load(logits.as<T>() + r * classes, row, classes);
      if (!gradient_) {
        outputs[0].as<T>()[r] = T(log_sum_(row, work, classes) - row[target]);
        continue;
      }
      const C scale = inputs[2].as<T>()[r];
      const C* in[] = {row};
      softmax_(in, work, 1, classes, 0);
      work[target] -= 1;
      for (int64_t i = 0; i < classes; ++i) work[i] *= scale;
      access.Store(work, outputs[0].as<T>() + r * classes, classes);
    }
    return true;
  }

 private:
  struct LogSum {
    CGRAPH_INLINE static C Run(const C* x, C* scratch, int64_t count) {
      return LogOfSumOfExp(x, scratch, count);
    }
  };
  const bool gradient_;
  const HalfLoops half_;
  C (*const log_sum_)(const C*, C*, int64_t) = WidestOf<LogSum>();
  const RowFunction<C> softmax_ = WidestOf<SoftmaxRows<C>>();
  Workspace<C> workspace_;
};

// Checks that `rows` has the dimensions of the logits without the last, the classes.
Status CheckCrossEntropy(const Request& request, bool gradient) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, gradient ? 3 : 2, 1));
  const OperandType& logits = request.inputs[0];
  if (logits.rank == 0) return Invalid(request, "it needs a last dimension");
  OperandType row = logits;
  --row.rank;
  CGRAPH_RETURN_IF_ERROR(ExpectSameDims(request, request.inputs[1], row));
  if (gradient) CGRAPH_RETURN_IF_ERROR(ExpectSameDims(request, request.inputs[2], row));
  CGRAPH_RETURN_IF_ERROR(ExpectSameDims(request, request.outputs[0], gradient ? logits : row));
  if (request.inputs[1].dtype != DType::i64 || request.outputs[0].dtype != logits.dtype ||
      (gradient && request.inputs[2].dtype != logits.dtype)) {
    return Invalid(request, "targets are i64, and everything else has one dtype");
  }
  return Status::Ok();
}

KernelResult MakeCrossEntropyOf(const Request& request, bool gradient) {
  CGRAPH_RETURN_IF_ERROR(CheckCrossEntropy(request, gradient));
  const OperandType& logits = request.inputs[0];
  if (!Contains(DTypes::kFloat, logits.dtype)) return NoKernel(request);
  CGRAPH_RETURN_IF_ERROR(ExpectWorkspaceFits(request, logits, logits.rank - 1));
  std::unique_ptr<Kernel> kernel;
  WithType(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (kIsFloat<T>) kernel = std::make_unique<CrossEntropyKernel<T>>(request, gradient);
  });
  return kernel;
}

}  // namespace

KernelResult MakeSoftmax(const Request& request) { return MakeAlong<SoftmaxRows>(request, 1); }
KernelResult MakeLogSoftmax(const Request& request) {
  return MakeAlong<LogSoftmaxRows>(request, 1);
}
KernelResult MakeSoftmaxGrad(const Request& request) {
  return MakeAlong<SoftmaxGradRows>(request, 2);
}
KernelResult MakeLogSoftmaxGrad(const Request& request) {
  return MakeAlong<LogSoftmaxGradRows>(request, 2);
}
KernelResult MakeCrossEntropy(const Request& request) { return MakeCrossEntropyOf(request, false); }
KernelResult MakeCrossEntropyGrad(const Request& request) {
  return MakeCrossEntropyOf(request, true);
}

}  // namespace cgraph::device
