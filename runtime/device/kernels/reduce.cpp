// Reductions, and softmax: fixed orders of addition, so the same bits from run to run.
//
// A tensor is seen as [outer, along, inner], and `along` is reduced; a reduction of all elements has
// outer = inner = 1. f32 is summed in f64, which is closer to the true sum than NumPy's pairwise f32
// and within rounding of it; f64 is summed pairwise in blocks, as NumPy does; integers wrap around.
#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/device/kernels/elementwise_ops.h"
#include "runtime/device/kernels/makers.h"

namespace cgraph::device {
namespace {

struct View {
  int64_t outer, along, inner;
};
View ViewOf(const Tensor& x, int dim) {
  if (dim < 0) return {1, x.elements(), 1};
  return {Product(x, 0, dim), x.dims[dim], Product(x, dim + 1, x.rank)};
}

// What sums of T are made in.
template <typename T>
using Sum = std::conditional_t<std::is_same_v<T, float>, double, T>;

constexpr int64_t kBlock = 128;
constexpr int kParts = 8;

// Eight partial sums vectorise and are added in a fixed order. Blocks are halved recursively
// (Higham, The accuracy of floating point summation, 1993): the error grows with log(count).
template <typename T>
Sum<T> SumRow(const T* x, int64_t count) {
  if (count > kBlock) {
    const int64_t half = count / 2 / kParts * kParts;
    return Add::Of(SumRow(x, half), SumRow(x + half, count - half));
  }
  Sum<T> parts[kParts] = {};
  int64_t i = 0;
  for (; i + kParts <= count; i += kParts) {
    for (int j = 0; j < kParts; ++j) parts[j] = Add::Of(parts[j], Sum<T>(x[i + j]));
  }
  for (; i < count; ++i) parts[0] = Add::Of(parts[0], Sum<T>(x[i]));
  for (int width = kParts / 2; width > 0; width /= 2) {
    for (int j = 0; j < width; ++j) parts[j] = Add::Of(parts[j], parts[j + width]);
  }
  return parts[0];
}

template <typename T>
T Least() {
  return std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                     : std::numeric_limits<T>::lowest();
}

template <typename T>
T MaxRow(const T* x, int64_t count) {
  T parts[kParts];
  std::fill(parts, parts + kParts, Least<T>());
  int64_t i = 0;
  for (; i + kParts <= count; i += kParts) {
    for (int j = 0; j < kParts; ++j) parts[j] = Maximum::Of(parts[j], x[i + j]);
  }
  for (; i < count; ++i) parts[0] = Maximum::Of(parts[0], x[i]);
  for (int j = 1; j < kParts; ++j) parts[0] = Maximum::Of(parts[0], parts[j]);
  return parts[0];
}

// The three reductions: a row at once, or many columns side by side.
template <typename T>
struct SumOf {
  using Accumulator = Sum<T>;
  static Accumulator Row(const T* x, int64_t count) { return SumRow(x, count); }
  static Accumulator Start() { return 0; }
  static Accumulator Next(Accumulator sum, T x) { return Add::Of(sum, Accumulator(x)); }
  static T End(Accumulator sum, int64_t) { return static_cast<T>(sum); }
};
template <typename T>
struct MeanOf : SumOf<T> {
  static T End(Sum<T> sum, int64_t count) { return static_cast<T>(sum / static_cast<Sum<T>>(count)); }
};
template <typename T>
struct MaxOf {
  using Accumulator = T;
  static T Row(const T* x, int64_t count) { return MaxRow(x, count); }
  static T Start() { return Least<T>(); }
  static T Next(T most, T x) { return Maximum::Of(most, x); }
  static T End(T most, int64_t) { return most; }
};

template <typename T, typename Reduction>
void Reduce(const View& view, const T* x, T* out) {
  if (view.inner == 1) {
    for (int64_t o = 0; o < view.outer; ++o) {
      out[o] = Reduction::End(Reduction::Row(x + o * view.along, view.along), view.along);
    }
    return;
  }
  constexpr int64_t kColumns = 64;
  typename Reduction::Accumulator columns[kColumns];
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t first = 0; first < view.inner; first += kColumns) {
      const int64_t count = std::min(kColumns, view.inner - first);
      std::fill(columns, columns + count, Reduction::Start());
      for (int64_t i = 0; i < view.along; ++i) {
        const T* row = x + (o * view.along + i) * view.inner + first;
        for (int64_t j = 0; j < count; ++j) columns[j] = Reduction::Next(columns[j], row[j]);
      }
      for (int64_t j = 0; j < count; ++j) {
        out[o * view.inner + first + j] = Reduction::End(columns[j], view.along);
      }
    }
  }
}

// The first maximum, or the first NaN; 0 where there are no elements.
template <typename T>
void Argmax(const View& view, const T* x, int64_t* out) {
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t j = 0; j < view.inner; ++j) {
      const T* column = x + o * view.along * view.inner + j;
      int64_t best = 0;
      for (int64_t i = 1; i < view.along; ++i) {
        const T value = column[i * view.inner], most = column[best * view.inner];
        if (value > most || (value != value && most == most)) best = i;
      }
      out[o * view.inner + j] = best;
    }
  }
}

template <typename T>
void Softmax(int64_t rows, int64_t count, const T* x, T* out) {
  for (int64_t r = 0; r < rows; ++r, x += count, out += count) {
    const T most = MaxRow(x, count);
    for (int64_t i = 0; i < count; ++i) out[i] = std::exp(x[i] - most);
    const T sum = static_cast<T>(SumRow(out, count));
    for (int64_t i = 0; i < count; ++i) out[i] /= sum;
  }
}

// The result has the dimensions of the operand without `dim`; none at all for dim < 0.
Status CheckReduction(const Request& request, int dim) {
  const OperandType& x = request.inputs[0];
  OperandType rest = x;
  rest.rank = 0;
  for (int i = 0; dim >= 0 && i < x.rank; ++i) {
    if (i == dim) continue;
    rest.dims[rest.rank] = x.dims[i];
    rest.dynamic[rest.rank++] = x.dynamic[i];
  }
  return ExpectSameDims(request, rest, request.outputs[0]);
}

template <template <typename> typename Reduction, DTypes dtypes>
KernelResult MakeReduction(const Request& request, bool over_dim) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 1, 1));
  CGRAPH_RETURN_IF_ERROR(ExpectOneDType(request));
  int dim = -1;
  if (over_dim) {
    Result<int> given = DimAttribute(request, "dim", request.inputs[0]);
    if (!given.ok()) return given.status();
    dim = *given;
  }
  CGRAPH_RETURN_IF_ERROR(CheckReduction(request, dim));
  if (!Contains(dtypes, request.inputs[0].dtype)) return NoKernel(request);
  std::unique_ptr<Kernel> kernel;
  WithType(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (dtypes != DTypes::kFloat || std::is_floating_point_v<T>) {
      kernel = KernelOf([dim](std::span<const Tensor> in, std::span<const Tensor> out) {
        Reduce<T, Reduction<T>>(ViewOf(in[0], dim), in[0].as<T>(), out[0].as<T>());
      });
    }
  });
  return kernel;
}

}  // namespace

KernelResult MakeSum(const Request& request) {
  return MakeReduction<SumOf, DTypes::kNumber>(request, false);
}
KernelResult MakeMean(const Request& request) {
  return MakeReduction<MeanOf, DTypes::kFloat>(request, false);
}
KernelResult MakeMax(const Request& request) {
  return MakeReduction<MaxOf, DTypes::kNumber>(request, false);
}
KernelResult MakeSumDim(const Request& request) {
  return MakeReduction<SumOf, DTypes::kNumber>(request, true);
}
KernelResult MakeMeanDim(const Request& request) {
  return MakeReduction<MeanOf, DTypes::kFloat>(request, true);
}
KernelResult MakeMaxDim(const Request& request) {
  return MakeReduction<MaxOf, DTypes::kNumber>(request, true);
}

KernelResult MakeArgmax(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 1, 1));
  const OperandType& x = request.inputs[0];
  if (request.outputs[0].dtype != DType::i64) return Invalid(request, "its result must be i64");
  Result<int> dim = DimAttribute(request, "dim", x);
  if (!dim.ok()) return dim.status();
  CGRAPH_RETURN_IF_ERROR(CheckReduction(request, *dim));
  if (x.dims[*dim] == 0) return Invalid(request, TypeText(x) + " has no maximum");
  if (!Contains(DTypes::kNumber, x.dtype)) return NoKernel(request);
  std::unique_ptr<Kernel> kernel;
  WithType(x.dtype, [&](auto zero) {
    using T = decltype(zero);
    kernel = KernelOf([dim = *dim](std::span<const Tensor> in, std::span<const Tensor> out) {
      Argmax(ViewOf(in[0], dim), in[0].as<T>(), out[0].as<int64_t>());
    });
  });
  return kernel;
}

KernelResult MakeSoftmax(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 1, 1));
  CGRAPH_RETURN_IF_ERROR(ExpectOneDType(request));
  CGRAPH_RETURN_IF_ERROR(ExpectSameDims(request, request.inputs[0], request.outputs[0]));
  if (request.inputs[0].rank == 0) return Invalid(request, "it needs a last dimension");
  if (!Contains(DTypes::kFloat, request.inputs[0].dtype)) return NoKernel(request);
  std::unique_ptr<Kernel> kernel;
  WithType(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      kernel = KernelOf([](std::span<const Tensor> in, std::span<const Tensor> out) {
        Softmax(Product(in[0], 0, in[0].rank - 1), in[0].dims[in[0].rank - 1], in[0].as<T>(),
                out[0].as<T>());
      });
    }
  });
  return kernel;
}

}  // namespace cgraph::device
