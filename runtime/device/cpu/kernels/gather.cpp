// Rows by index: the kernels of `embedding` and its gradient, which adds rows up; causal_mask.
#include <algorithm>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "runtime/device/cpu/kernels/elementwise/elementwise_ops.h"
#include "runtime/device/cpu/kernels/failures.h"
#include "runtime/device/cpu/kernels/makers.h"

namespace cgraph::device {
namespace {

bool IsRow(const char* op, int64_t row, int64_t rows, int64_t position, std::string& error) {
  if (row >= 0 && row < rows) return true;
  error = NoIndexText(op, position, row, rows);
  return false;
}

bool GatherRows(const Tensor& table, const Tensor& index, const Tensor& out, std::string& error) {
  const int64_t row = Product(table, 1, table.rank) * plan::DTypeBytes(table.dtype);
  const int64_t count = index.elements();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = index.as<int64_t>()[i];
    if (!IsRow("embedding", at, table.dims[0], i, error)) return false;
    CopyBytes(out.as<char>() + i * row, table.as<char>() + at * row, row);
  }
  return true;
}

// Adds rows in the order of the indices. f16 and bf16 are added in f32, as many columns at a time
// as the workspace holds.
template <typename T>
class GatherRowsGradKernel final : public Kernel {
 public:
  using C = Compute<T>;
  explicit GatherRowsGradKernel(const OperandType& table) {
    if (!kIsHalf<T>) return;
    int64_t row = 1;
    for (int i = 1; i < table.rank; ++i) row *= table.dims[i];
    const int64_t rows = std::max<int64_t>(table.dims[0], 1);
    columns_ = std::clamp<int64_t>(kWorkspace / rows, 1, std::max<int64_t>(row, 1));
    sums_.resize(static_cast<size_t>(columns_ * rows));
  }
  bool Run(std::span<const Tensor> inputs, std::span<const Tensor> outputs, void*,
           std::string& error) override {
    const Tensor& index = inputs[0];
    const Tensor& out = outputs[0];
    for (int64_t i = 0; i < index.elements(); ++i) {
      if (!IsRow("embedding_grad", index.as<int64_t>()[i], out.dims[0], i, error)) return false;
    }
    const int64_t row = Product(out, 1, out.rank);
    if constexpr (kIsHalf<T>) {
      for (int64_t first = 0; first < row; first += columns_) {
        const int64_t count = std::min(columns_, row - first);
        AddUp(index, inputs[1].as<T>() + first, row, sums_.data(), count, out.dims[0], count);
        for (int64_t r = 0; r < out.dims[0]; ++r) {
          for (int64_t j = 0; j < count; ++j) {
            out.as<T>()[r * row + first + j] = T(sums_[static_cast<size_t>(r * count + j)]);
          }
        }
      }
    } else {
      AddUp(index, inputs[1].as<T>(), row, out.as<T>(), row, out.dims[0], row);
    }
    return true;
  }

 private:
  static constexpr int64_t kWorkspace = int64_t{1} << 20;

  static void AddUp(const Tensor& index, const T* gradient, int64_t row, C* sums, int64_t stride,
                    int64_t rows, int64_t count) {
    std::fill(sums, sums + rows * stride, C(0));
    for (int64_t i = 0; i < index.elements(); ++i) {
      C* to = sums + index.as<int64_t>()[i] * stride;
      const T* from = gradient + i * row;
      for (int64_t j = 0; j < count; ++j) to[j] = Add::Of(to[j], C(from[j]));
    }
  }

  int64_t columns_ = 0;
  std::vector<C> sums_;
};

// Checks that `rows` is `table` with the dimensions of the index in the place of its first one.
Status CheckRows(const Request& request, const OperandType& table, const OperandType& index,
                 const OperandType& rows) {
  bool fits = table.rank > 0 && index.dtype == DType::i64 && rows.dtype == table.dtype &&
              rows.rank == index.rank + table.rank - 1;
  for (int i = 0; fits && i < rows.rank; ++i) {
    fits = i < index.rank ? SameDim(rows, i, index, i)
                          : SameDim(rows, i, table, i - index.rank + 1);
  }
  if (fits) return Status::Ok();
  return Invalid(request, fmt::format("{} by {} does not give {}", TypeText(table), TypeText(index),
                                      TypeText(rows)));
}

// Masks elements (i, j) of each matrix [n, m] with j > i + m - n.
template <typename T>
void CausalMask(const Tensor& x, const Tensor& out) {
  CopyBytes(out.data, x.data, x.bytes());
  const int64_t n = x.dims[x.rank - 2], m = x.dims[x.rank - 1];
  const T masked = T(-std::numeric_limits<double>::infinity());
  const int64_t rows = Product(x, 0, x.rank - 1);
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t first = std::min(m, std::max<int64_t>(0, r % n + m - n + 1));
    std::fill(out.as<T>() + r * m + first, out.as<T>() + (r + 1) * m, masked);
  }
}

}  // namespace

KernelResult MakeGatherRows(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 2, 1));
  CGRAPH_RETURN_IF_ERROR(
      CheckRows(request, request.inputs[0], request.inputs[1], request.outputs[0]));
  return KernelOf([](std::span<const Tensor> in, std::span<const Tensor> out, std::string& error) {
    return GatherRows(in[0], in[1], out[0], error);
  });
}

KernelResult MakeGatherRowsGrad(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 2, 1));
  CGRAPH_RETURN_IF_ERROR(
      CheckRows(request, request.outputs[0], request.inputs[0], request.inputs[1]));
  if (!Contains(DTypes::kNumber, request.outputs[0].dtype)) return NoKernel(request);
  CGRAPH_RETURN_IF_ERROR(ExpectWorkspaceFits(request, request.outputs[0], 0));
  std::unique_ptr<Kernel> kernel;
  WithType(request.outputs[0].dtype, [&](auto zero) {
    kernel = std::make_unique<GatherRowsGradKernel<decltype(zero)>>(request.outputs[0]);
  });
  return kernel;
}

KernelResult MakeCausalMask(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 1, 1));
  CGRAPH_RETURN_IF_ERROR(ExpectOneDType(request));
  CGRAPH_RETURN_IF_ERROR(ExpectSameDims(request, request.inputs[0], request.outputs[0]));
  if (request.inputs[0].rank < 2) return Invalid(request, "it masks matrices");
  if (!Contains(DTypes::kFloat, request.inputs[0].dtype)) return NoKernel(request);
  std::unique_ptr<Kernel> kernel;
  WithType(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (kIsFloat<T>) {
      kernel = KernelOf([](std::span<const Tensor> in, std::span<const Tensor> out) {
        CausalMask<T>(in[0], out[0]);
      });
    }
  });
  return kernel;
}

}  // namespace cgraph::device
