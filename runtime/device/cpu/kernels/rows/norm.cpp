// layer_norm, rms_norm and l2_normalize over the last dimension, and their gradients.
#include <algorithm>
#include <cmath>

#include "runtime/device/cpu/kernels/rows/rows.h"
#include "runtime/device/numbers/binary_format.h"

namespace cgraph::device {
namespace {

template <typename C>
CGRAPH_INLINE C MeanOf(const C* x, int64_t count) {
  const double per = 1 / static_cast<double>(count);
  return static_cast<C>(per * SumOver<C>(count, [x](C sum, int64_t i) { return sum + x[i]; }));
}
// Returns the factor that brings the deviations from the mean to unit variance.
template <typename C>
CGRAPH_INLINE C ScaleOf(const C* x, C mean, int64_t count, double epsilon) {
  const double per = 1 / static_cast<double>(count);
  const double squares = SumOver<C>(count, [=](C sum, int64_t i) {
    const C deviation = x[i] - mean;
    return Fma(deviation, deviation, sum);
  });
  return C(1) / std::sqrt(static_cast<C>(squares * per + epsilon));
}

// Computes some rows at once, so that the processor works on one while another waits for a result.
template <typename C>
struct LayerNormRows {
  static constexpr int64_t kTogether = 32;

  CGRAPH_INLINE static void Run(const C* const* in, C* y, int64_t rows, int64_t count,
                                double epsilon) {
    Into<StoreAsIs, C>::Run(in, y, rows, count, epsilon);
  }
  template <typename Store, typename T>
  struct Into {
    CGRAPH_INLINE static void Run(const C* const* in, T* y, int64_t rows, int64_t count,
                                  double epsilon) {
      for (int64_t first = 0; first < rows; first += kTogether) {
        const int64_t some = rows - first < kTogether ? rows - first : kTogether;
        RunSome(in[0] + first * count, in[1], in[2], y + first * count, some, count, epsilon);
      }
    }

   private:
    CGRAPH_INLINE static void RunSome(const C* x, const C* gain, const C* bias, T* y, int64_t rows,
                                      int64_t count, double epsilon) {
      C means[kTogether], scales[kTogether];
      for (int64_t r = 0; r < rows; ++r) means[r] = MeanOf(x + r * count, count);
      for (int64_t r = 0; r < rows; ++r) {
        scales[r] = ScaleOf(x + r * count, means[r], count, epsilon);
      }
      for (int64_t r = 0; r < rows; ++r) {
        const C mean = means[r], scale = scales[r];
        const C* from = x + r * count;
        Store::Run(y + r * count, count, [=](int64_t i) {
          return Fma((from[i] - mean) * scale, gain[i], bias[i]);
        });
      }
    }
  };
};

template <typename C>
CGRAPH_INLINE double SquaresOf(const C* x, int64_t count) {
  return SumOver<C>(count, [x](C sum, int64_t i) { return Fma(x[i], x[i], sum); });
}

template <typename C>
struct RmsNormRow {
  CGRAPH_INLINE static void Run(const C* const* in, C* y, int64_t count, double epsilon) {
    const C* x = in[0];
    const C scale = static_cast<C>(1 / std::sqrt(SquaresOf(x, count) / count + epsilon));
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) y[i] = x[i] * scale;
  }
};

// y = x * r with r = 1 / sqrt(mean(x * x) + epsilon), so gx = r * (gy - x * r * r * mean(x * gy)).
template <typename C>
struct RmsNormGradRow {
  CGRAPH_INLINE static void Run(const C* const* in, C* gx, int64_t count, double epsilon) {
    const C *x = in[0], *gy = in[1];
    const double r = 1 / std::sqrt(SquaresOf(x, count) / count + epsilon);
    const double along = SumOver<C>(count, [=](C sum, int64_t i) { return Fma(x[i], gy[i], sum); });
    const C scale = static_cast<C>(r), back = static_cast<C>(r * r * along / count);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) gx[i] = scale * (gy[i] - x[i] * back);
  }
};

// Computes x / max(|x|, epsilon), as PyTorch's normalize.
template <typename C>
struct L2NormalizeRow {
  CGRAPH_INLINE static void Run(const C* const* in, C* y, int64_t count, double epsilon) {
    const C* x = in[0];
    const double length = std::sqrt(SquaresOf(x, count));
    const C scale = static_cast<C>(1 / (length < epsilon ? epsilon : length));
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) y[i] = x[i] * scale;
  }
};

template <typename C>
struct L2NormalizeGradRow {
  CGRAPH_INLINE static void Run(const C* const* in, C* gx, int64_t count, double epsilon) {
    const C *x = in[0], *gy = in[1];
    const double length = std::sqrt(SquaresOf(x, count));
    const double along = SumOver<C>(count, [=](C sum, int64_t i) { return Fma(x[i], gy[i], sum); });
    const bool small = length < epsilon;
    const C scale = static_cast<C>(1 / (small ? epsilon : length));
    const C back = static_cast<C>(small ? 0 : along / (length * length));
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) gx[i] = scale * (gy[i] - x[i] * back);
  }
};

// Computes one row's gx, and the row's part of the gradients of gain and bias.
template <typename C>
struct LayerNormGradRow {
  CGRAPH_INLINE static void Run(const C* x, const C* gain, const C* gy, C* gx, double* ggain,
                                double* gbias, int64_t count, double epsilon) {
    const C mean = MeanOf(x, count), scale = ScaleOf(x, mean, count, epsilon);
    const double g_mean =
        SumOver<C>(count, [=](C sum, int64_t i) { return Fma(gy[i], gain[i], sum); }) / count;
    const double along = SumOver<C>(count, [=](C sum, int64_t i) {
      return Fma(gy[i] * gain[i], (x[i] - mean) * scale, sum);
    }) / count;
    const C level = static_cast<C>(g_mean), back = static_cast<C>(along);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      const C normal = (x[i] - mean) * scale, g = gy[i];
      gx[i] = scale * (g * gain[i] - level - normal * back);
      ggain[i] += static_cast<double>(g) * normal;
      gbias[i] += g;
    }
  }
};

template <typename T>
class LayerNormGradKernel final : public Kernel {
 public:
  using C = Compute<T>;
  LayerNormGradKernel(const Request& request, double epsilon)
      : epsilon_(epsilon), half_(HalfLoopsOf(request.outputs[0].dtype)),
        longest_(static_cast<size_t>(request.inputs[1].dims[0])) {
    workspace_.resize(4 * longest_);
    sums_.resize(2 * longest_);
  }

  bool Run(std::span<const Tensor> inputs, std::span<const Tensor> outputs, void*,
           std::string&) override {
    const Tensor& x = inputs[0];
    const int64_t rows = Product(x, 0, x.rank - 1), count = x.dims[x.rank - 1];
    const RowAccess<T> access{1, half_};
    C *row = workspace_.data(), *gain = row + longest_, *gy = gain + longest_, *gx = gy + longest_;
    double *ggain = sums_.data(), *gbias = ggain + longest_;
    std::fill(sums_.begin(), sums_.end(), 0);
    access.Load(inputs[1].as<T>(), gain, count);
    for (int64_t r = 0; r < rows; ++r) {
      access.Load(x.as<T>() + r * count, row, count);
      access.Load(inputs[2].as<T>() + r * count, gy, count);
      function_(row, gain, gy, gx, ggain, gbias, count, epsilon_);
      access.Store(gx, outputs[0].as<T>() + r * count, count);
    }
    for (int64_t i = 0; i < count; ++i) {
      outputs[1].as<T>()[i] = T(ggain[i]);
      outputs[2].as<T>()[i] = T(gbias[i]);
    }
    return true;
  }

 private:
  const double epsilon_;
  const HalfLoops half_;
  const size_t longest_;
  decltype(&LayerNormGradRow<C>::Run) const function_ = WidestOf<LayerNormGradRow<C>>();
  Workspace<C> workspace_;
  std::vector<double> sums_;
};

// Checks that the operand is a vector as long as a row of the first input.
Status ExpectRowVector(const Request& request, const OperandType& vector) {
  const OperandType& x = request.inputs[0];
  if (vector.rank == 1 && SameDim(vector, 0, x, x.rank - 1)) return Status::Ok();
  return Invalid(request, TypeText(vector) + " is no row of " + TypeText(x));
}

// Returns epsilon, which is no NaN: a NaN's payload would become that of results, and bf16 are
// rounded as if there were none.
Result<double> EpsilonOf(const Request& request) {
  Result<double> epsilon = FloatAttribute(request, "epsilon");
  if (epsilon.ok() && std::isnan(*epsilon)) return Invalid(request, "its epsilon is no number");
  return epsilon;
}

template <typename C>
using RmsNormRows = OneByOne<RmsNormRow<C>, C, 1>;
template <typename C>
using RmsNormGradRows = OneByOne<RmsNormGradRow<C>, C, 2>;
template <typename C>
using L2NormalizeRows = OneByOne<L2NormalizeRow<C>, C, 1>;
template <typename C>
using L2NormalizeGradRows = OneByOne<L2NormalizeGradRow<C>, C, 2>;

// Inputs: `rows` inputs with the dimensions of the result, then vectors.
template <template <typename> typename Rows>
KernelResult MakeNorm(const Request& request, size_t rows, size_t vectors) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, rows + vectors, 1));
  CGRAPH_RETURN_IF_ERROR(ExpectOneDType(request));
  const OperandType& x = request.inputs[0];
  if (x.rank == 0) return Invalid(request, "it needs a last dimension");
  CGRAPH_RETURN_IF_ERROR(ExpectSameDims(request, x, request.outputs[0]));
  for (size_t i = 1; i < rows; ++i) {
    CGRAPH_RETURN_IF_ERROR(ExpectSameDims(request, request.inputs[i], x));
  }
  for (size_t i = rows; i < rows + vectors; ++i) {
    CGRAPH_RETURN_IF_ERROR(ExpectRowVector(request, request.inputs[i]));
  }
  Result<double> epsilon = EpsilonOf(request);
  if (!epsilon.ok()) return epsilon.status();
  return MakeRows<Rows>(request, static_cast<int>(rows), x.rank - 1, *epsilon);
}

}  // namespace

KernelResult MakeLayerNorm(const Request& request) {
  return MakeNorm<LayerNormRows>(request, 1, 2);
}
KernelResult MakeRmsNorm(const Request& request) { return MakeNorm<RmsNormRows>(request, 1, 0); }
KernelResult MakeRmsNormGrad(const Request& request) {
  return MakeNorm<RmsNormGradRows>(request, 2, 0);
}
KernelResult MakeL2Normalize(const Request& request) {
  return MakeNorm<L2NormalizeRows>(request, 1, 0);
}
KernelResult MakeL2NormalizeGrad(const Request& request) {
  return MakeNorm<L2NormalizeGradRows>(request, 2, 0);
}

KernelResult MakeLayerNormGrad(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 3, 3));
  CGRAPH_RETURN_IF_ERROR(ExpectOneDType(request));
  const OperandType& x = request.inputs[0];
  if (x.rank == 0) return Invalid(request, "it needs a last dimension");
  CGRAPH_RETURN_IF_ERROR(ExpectSameDims(request, x, request.inputs[2]));
  CGRAPH_RETURN_IF_ERROR(ExpectSameDims(request, x, request.outputs[0]));
  for (const OperandType* vector : {&request.inputs[1], &request.outputs[1], &request.outputs[2]}) {
    CGRAPH_RETURN_IF_ERROR(ExpectRowVector(request, *vector));
  }
  Result<double> epsilon = EpsilonOf(request);
  if (!epsilon.ok()) return epsilon.status();
  if (!Contains(DTypes::kFloat, x.dtype)) return NoKernel(request);
  CGRAPH_RETURN_IF_ERROR(ExpectWorkspaceFits(request, x, x.rank - 1));
  std::unique_ptr<Kernel> kernel;
  WithType(x.dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (kIsFloat<T>) kernel = std::make_unique<LayerNormGradKernel<T>>(request, *epsilon);
  });
  return kernel;
}

}  // namespace cgraph::device
