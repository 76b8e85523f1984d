// Reductions. A tensor is seen as [outer, along, inner], and `along` is reduced; a reduction of all
// elements has outer = inner = 1.
#include <algorithm>

#include "runtime/device/kernels/makers.h"
#include "runtime/device/kernels/reductions/reductions.h"

namespace cgraph::device {
namespace {

Columns ViewOf(const Tensor& x, int dim) {
  if (dim < 0) return {1, x.elements(), 1};
  return ColumnsOf(x, dim);
}

// The reductions: each has a function for a row and one for many columns side by side.
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
  static T End(Sum<T> sum, int64_t count) {
    return static_cast<T>(sum / static_cast<Sum<T>>(count));
  }
};
template <typename T, typename Extremum, bool least>
struct ExtremeOf {
  using Accumulator = Compute<T>;
  static Accumulator Row(const T* x, int64_t count) {
    return ExtremeOfRow<Extremum>(x, count, Start());
  }
  static Accumulator Start() { return least ? Least<T>() : Greatest<T>(); }
  static Accumulator Next(Accumulator most, T x) { return Extremum::Of(most, Accumulator(x)); }
  static T End(Accumulator most, int64_t) { return static_cast<T>(most); }
};
template <typename T>
struct MaxOf : ExtremeOf<T, Maximum, true> {};
template <typename T>
struct MinOf : ExtremeOf<T, Minimum, false> {};

template <typename T, typename Reduction>
void Reduce(const Columns& view, const T* x, T* out) {
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
void Argmax(const Columns& view, const T* x, int64_t* out) {
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t j = 0; j < view.inner; ++j) {
      const T* column = x + o * view.along * view.inner + j;
      int64_t best = 0;
      for (int64_t i = 1; i < view.along; ++i) {
        const Compute<T> value = column[i * view.inner], most = column[best * view.inner];
        if (value > most || (value != value && most == most)) best = i;
      }
      out[o * view.inner + j] = best;
    }
  }
}

// Checks that the result has the dimensions of the operand without `dim`; none at all for dim < 0.
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
    if constexpr (dtypes != DTypes::kFloat || kIsFloat<T>) {
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
KernelResult MakeMin(const Request& request) {
  return MakeReduction<MinOf, DTypes::kNumber>(request, false);
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

KernelResult MakeMinDim(const Request& request) {
  return MakeReduction<MinOf, DTypes::kNumber>(request, true);
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

}  // namespace cgraph::device
