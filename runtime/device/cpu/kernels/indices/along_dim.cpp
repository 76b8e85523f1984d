// Elements by their index along one dimension: take_along_dim reads them, scatter_add adds to them.
#include <algorithm>
#include <vector>

#include "runtime/device/cpu/kernels/elementwise/elementwise_ops.h"
#include "runtime/device/cpu/kernels/failures.h"
#include "runtime/device/cpu/kernels/makers.h"

namespace cgraph::device {
namespace {

bool AreAlong(const char* op, const Tensor& index, int64_t extent, std::string& error) {
  const int64_t count = index.elements();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = index.as<int64_t>()[i];
    if (at >= 0 && at < extent) continue;
    error = NotAlongText(op, i, at, extent);
    return false;
  }
  return true;
}

// `columns` are those of the index.
template <typename T>
void TakeAlong(const Columns& columns, int64_t extent, const T* x, const int64_t* index, T* out) {
  for (int64_t o = 0; o < columns.outer; ++o) {
    const T* from = x + o * extent * columns.inner;
    for (int64_t i = 0; i < columns.along; ++i) {
      for (int64_t j = 0; j < columns.inner; ++j) *out++ = from[*index++ * columns.inner + j];
    }
  }
}

// Adds in the order of the index. f16 and bf16 are added in f32, as many columns at a time as the
// workspace holds.
template <typename T>
class ScatterAddKernel final : public Kernel {
 public:
  using C = Compute<T>;
  ScatterAddKernel(const OperandType& x, int dim) : dim_(dim) {
    if (!kIsHalf<T>) return;
    int64_t inner = 1;
    for (int i = dim + 1; i < x.rank; ++i) inner *= x.dims[i];
    const int64_t extent = std::max<int64_t>(x.dims[dim], 1);
    together_ = std::clamp<int64_t>(kWorkspace / extent, 1, std::max<int64_t>(inner, 1));
    sums_.resize(static_cast<size_t>(together_ * extent));
  }
  bool Run(std::span<const Tensor> inputs, std::span<const Tensor> outputs, void*,
           std::string& error) override {
    const Tensor& x = inputs[0];
    const Tensor& index = inputs[1];
    const int64_t extent = x.dims[dim_];
    // Before anything is written: the result may lie where x does, which a failed call leaves
    // alone.
    if (!AreAlong("scatter_add", index, extent, error)) return false;
    if (x.data != outputs[0].data) CopyBytes(outputs[0].data, x.data, x.bytes());
    const Columns columns = ColumnsOf(index, dim_);
    for (int64_t o = 0; o < columns.outer; ++o) {
      const int64_t from = o * columns.along * columns.inner, to = o * extent * columns.inner;
      AddTo(columns, extent, index.as<int64_t>() + from, inputs[2].as<T>() + from,
            outputs[0].as<T>() + to);
    }
    return true;
  }

 private:
  static constexpr int64_t kWorkspace = int64_t{1} << 20;

  void AddTo(const Columns& columns, int64_t extent, const int64_t* index, const T* source,
             T* out) {
    const int64_t inner = columns.inner;
    if constexpr (kIsHalf<T>) {
      for (int64_t first = 0; first < inner; first += together_) {
        const int64_t count = std::min(together_, inner - first);
        for (int64_t r = 0; r < extent; ++r) {
          for (int64_t j = 0; j < count; ++j) At(r * count + j) = out[r * inner + first + j];
        }
        for (int64_t i = 0; i < columns.along; ++i) {
          for (int64_t j = 0; j < count; ++j) {
            const int64_t at = i * inner + first + j;
            C& sum = At(index[at] * count + j);
            sum = Add::Of(sum, C(source[at]));
          }
        }
        for (int64_t r = 0; r < extent; ++r) {
          for (int64_t j = 0; j < count; ++j) out[r * inner + first + j] = T(At(r * count + j));
        }
      }
    } else {
      for (int64_t i = 0; i < columns.along; ++i) {
        for (int64_t j = 0; j < inner; ++j) {
          T& sum = out[*index++ * inner + j];
          sum = Add::Of(sum, *source++);
        }
      }
    }
  }
  C& At(int64_t i) { return sums_[static_cast<size_t>(i)]; }

  int dim_;
  int64_t together_ = 0;  // columns
  std::vector<C> sums_;
};

// Checks that the index has the dimensions of `x` but for `dim`, and `part` those of the index.
Result<int> CheckAlong(const Request& request, const OperandType& x, const OperandType& index,
                       const OperandType& part) {
  Result<int> dim = DimAttribute(request, "dim", x);
  if (!dim.ok()) return dim.status();
  if (index.dtype != DType::i64) return Invalid(request, "its index must be i64");
  if (part.dtype != x.dtype) return Invalid(request, "its tensors must have one dtype");
  OperandType whole = index;
  if (whole.rank == x.rank) {
    whole.dims[*dim] = x.dims[*dim];
    whole.dynamic[*dim] = x.dynamic[*dim];
  }
  CGRAPH_RETURN_IF_ERROR(ExpectSameDims(request, whole, x));
  CGRAPH_RETURN_IF_ERROR(ExpectSameDims(request, index, part));
  return dim;
}

}  // namespace

KernelResult MakeTakeAlongDim(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 2, 1));
  Result<int> dim = CheckAlong(request, request.inputs[0], request.inputs[1], request.outputs[0]);
  if (!dim.ok()) return dim.status();
  std::unique_ptr<Kernel> kernel;
  WithType(request.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    kernel = KernelOf(
        [dim = *dim](std::span<const Tensor> in, std::span<const Tensor> out, std::string& error) {
          if (!AreAlong("take_along_dim", in[1], in[0].dims[dim], error)) return false;
          TakeAlong(ColumnsOf(in[1], dim), in[0].dims[dim], in[0].as<T>(), in[1].as<int64_t>(),
                    out[0].as<T>());
          return true;
        });
  });
  return kernel;
}

KernelResult MakeScatterAdd(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 3, 1));
  const OperandType& x = request.inputs[0];
  Result<int> dim = CheckAlong(request, x, request.inputs[1], request.inputs[2]);
  if (!dim.ok()) return dim.status();
  if (request.outputs[0].dtype != x.dtype) {
    return Invalid(request, "its tensors must have one dtype");
  }
  CGRAPH_RETURN_IF_ERROR(ExpectSameDims(request, x, request.outputs[0]));
  if (!Contains(DTypes::kNumber, x.dtype)) return NoKernel(request);
  CGRAPH_RETURN_IF_ERROR(ExpectWorkspaceFits(request, x, *dim));
  CGRAPH_RETURN_IF_ERROR(ExpectWorkspaceFits(request, request.inputs[1], *dim));
  std::unique_ptr<Kernel> kernel;
  WithType(x.dtype, [&](auto zero) {
    kernel = std::make_unique<ScatterAddKernel<decltype(zero)>>(x, *dim);
  });
  return kernel;
}

}  // namespace cgraph::device
