// Reductions. A tensor is seen as [outer, along, inner], and `along` is reduced; a reduction of all
// elements has outer = inner = 1.
#include <algorithm>

#include "runtime/device/cpu/kernels/makers.h"
#include "runtime/device/cpu/kernels/reductions/argmax.h"
#include "runtime/device/cpu/kernels/reductions/reductions.h"

namespace cgraph::device {
namespace {

Columns ViewOf(const Tensor& x, int dim) {
  if (dim < 0) return {1, x.elements(), 1};
  return ColumnsOf(x, dim);
}

// The reductions: how elements of T are taken in, and what is made of their sum or extreme.
template <typename T>
struct SumOf {
  template <typename C>
  using Taking = Adding<C>;
  static T End(Sum<T> sum, int64_t) { return static_cast<T>(sum); }
};
template <typename T>
struct MeanOf : SumOf<T> {
  static T End(Sum<T> sum, int64_t count) {
    return static_cast<T>(sum / static_cast<Sum<T>>(count));
  }
};
template <typename T>
struct MaxOf {
  template <typename C>
  using Taking = ChoosingGreatest<C>;
  static T End(Compute<T> most, int64_t) { return static_cast<T>(most); }
};
template <typename T>
struct MinOf {
  template <typename C>
  using Taking = ChoosingLeast<C>;
  static T End(Compute<T> least, int64_t) { return static_cast<T>(least); }
};

template <typename T, typename Reduction>
void ReduceRows(const Columns& view, const T* x, T* out) {
  if (view.along > Widener<T>::kMost) {
    ElementReducer<T, Reduction::template Taking> reducer;
    for (int64_t o = 0; o < view.outer; ++o) {
      out[o] = Reduction::End(reducer.Row(x + o * view.along, view.along), view.along);
    }
    return;
  }
  Widener<T> widener;
  ElementReducer<Compute<T>, Reduction::template Taking> reducer;
  ForRows(widener, x, view.outer, view.along, view.along,
          [&](const Compute<T>* rows, int64_t o, int64_t n, int64_t along) {
            for (int64_t r = 0; r < n; ++r) {
              out[o + r] = Reduction::End(reducer.Row(rows + r * along, along), along);
            }
          });
}

template <typename T, typename Reduction>
void Reduce(const Columns& view, const T* x, T* out) {
  if (view.inner == 1) return ReduceRows<T, Reduction>(view, x, out);
  using Reducer = ElementReducer<T, Reduction::template Taking>;
  Reducer reducer;
  typename Reducer::A columns[Reducer::kColumns];
  for (int64_t o = 0; o < view.outer; ++o, x += view.along * view.inner, out += view.inner) {
    for (int64_t first = 0; first < view.inner; first += Reducer::kColumns) {
      const int64_t count = std::min(Reducer::kColumns, view.inner - first);
      std::fill_n(columns, count, Reducer::Taking::Start());
      reducer.Columns(x + first, view.along, view.inner, count, columns);
      for (int64_t j = 0; j < count; ++j) out[first + j] = Reduction::End(columns[j], view.along);
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
      ArgmaxFinder<T>().Find(ViewOf(in[0], dim), in[0].as<T>(), out[0].as<int64_t>());
    });
  });
  return kernel;
}

}  // namespace cgraph::device
