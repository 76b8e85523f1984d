// Kernels that move elements without looking at them, for every dtype.
#include <algorithm>

#include <fmt/format.h>

#include "runtime/device/cpu/kernels/failures.h"
#include "runtime/device/cpu/kernels/makers.h"

namespace cgraph::device {
namespace {

bool Slice(int dim, const Tensor& x, int64_t from, int64_t length, const Tensor& out,
           std::string& error) {
  const int64_t extent = x.dims[dim];
  if (!Fits("slice", from, length, extent, error)) return false;
  if (out.dims[dim] != length) {
    error = SliceResultText(length, out.dims[dim]);
    return false;
  }
  const int64_t outer = Product(x, 0, dim);
  const int64_t inner = Product(x, dim + 1, x.rank) * plan::DTypeBytes(x.dtype);
  for (int64_t o = 0; o < outer; ++o) {
    CopyBytes(out.as<char>() + o * length * inner, x.as<char>() + (o * extent + from) * inner,
              length * inner);
  }
  return true;
}

// Writes `part` over a box of `into` of the same size, whose first corner is at `at`.
bool Update(const Tensor& into, const Tensor& part, const int64_t* at, const Tensor& out,
            std::string& error) {
  for (int i = 0; i < into.rank; ++i) {
    if (!Fits("update", at[i], part.dims[i], into.dims[i], error)) return false;
  }
  CopyBytes(out.data, into.data, into.bytes());
  if (part.elements() == 0) return true;
  // Dimensions that are covered as a whole make one contiguous run with the dimension before them.
  int last = into.rank - 1;
  while (last > 0 && part.dims[last] == into.dims[last]) --last;
  const int64_t width = plan::DTypeBytes(into.dtype);
  if (into.rank == 0) {
    CopyBytes(out.data, part.data, width);
    return true;
  }
  const int64_t run = Product(part, last, part.rank) * width;
  const int64_t runs = Product(part, 0, last);
  for (int64_t r = 0; r < runs; ++r) {
    int64_t offset = at[last] * Product(into, last + 1, into.rank), rest = r;
    int64_t stride = Product(into, last, into.rank);
    for (int i = last - 1; i >= 0; --i) {
      offset += (at[i] + rest % part.dims[i]) * stride;
      rest /= part.dims[i];
      stride *= into.dims[i];
    }
    CopyBytes(out.as<char>() + offset * width, part.as<char>() + r * run, run);
  }
  return true;
}

// `type` without its first dimension.
OperandType RowOf(const OperandType& type) {
  OperandType row = type;
  row.rank = static_cast<uint8_t>(type.rank - 1);
  for (int i = 0; i < row.rank; ++i) {
    row.dims[i] = type.dims[i + 1];
    row.dynamic[i] = type.dynamic[i + 1];
  }
  return row;
}

}  // namespace

KernelResult MakeCopy(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 1, 1));
  CGRAPH_RETURN_IF_ERROR(ExpectOneDType(request));
  CGRAPH_RETURN_IF_ERROR(ExpectSameDims(request, request.inputs[0], request.outputs[0]));
  return KernelOf([](std::span<const Tensor> in, std::span<const Tensor> out) {
    CopyBytes(out[0].data, in[0].data, in[0].bytes());
  });
}

KernelResult MakeStack(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, request.inputs.size(), 1));
  CGRAPH_RETURN_IF_ERROR(ExpectOneDType(request));
  const OperandType& out = request.outputs[0];
  if (out.rank == 0 || out.dynamic[0] ||
      out.dims[0] != static_cast<int64_t>(request.inputs.size())) {
    return Invalid(request, fmt::format("{} operands do not make {}", request.inputs.size(),
                                        TypeText(out)));
  }
  for (const OperandType& item : request.inputs) {
    CGRAPH_RETURN_IF_ERROR(ExpectSameDims(request, item, RowOf(out)));
  }
  return KernelOf([](std::span<const Tensor> in, std::span<const Tensor> out) {
    const uint64_t row = out[0].bytes() / std::max<size_t>(in.size(), 1);
    for (size_t i = 0; i < in.size(); ++i) {
      CopyBytes(out[0].as<char>() + i * row, in[i].data, row);
    }
  });
}

KernelResult MakeSlice(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 3, 1));
  const OperandType& x = request.inputs[0];
  const OperandType& out = request.outputs[0];
  CGRAPH_RETURN_IF_ERROR(ExpectScalar(request, request.inputs[1], DType::i64));
  CGRAPH_RETURN_IF_ERROR(ExpectScalar(request, request.inputs[2], DType::i64));
  Result<int> dim = DimAttribute(request, "dim", x);
  if (!dim.ok()) return dim.status();
  bool fits = x.dtype == out.dtype && x.rank == out.rank && out.dims[*dim] <= x.dims[*dim];
  for (int i = 0; fits && i < x.rank; ++i) fits = i == *dim || SameDim(x, i, out, i);
  if (!fits) {
    return Invalid(request, fmt::format("{} is no slice of {}", TypeText(out), TypeText(x)));
  }
  return KernelOf([dim = *dim](std::span<const Tensor> in, std::span<const Tensor> out,
                               std::string& error) {
    return Slice(dim, in[0], *in[1].as<int64_t>(), *in[2].as<int64_t>(), out[0], error);
  });
}

KernelResult MakeUpdate(const Request& request) {
  if (request.inputs.size() < 2) return Invalid(request, "it needs a tensor and a part of it");
  const OperandType& into = request.inputs[0];
  const OperandType& part = request.inputs[1];
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 2 + size_t{into.rank}, 1));
  CGRAPH_RETURN_IF_ERROR(ExpectSameDims(request, into, request.outputs[0]));
  for (const OperandType& at : request.inputs.subspan(2)) {
    CGRAPH_RETURN_IF_ERROR(ExpectScalar(request, at, DType::i64));
  }
  if (part.rank != into.rank || part.dtype != into.dtype ||
      request.outputs[0].dtype != into.dtype) {
    return Invalid(request, fmt::format("{} is no part of {}", TypeText(part), TypeText(into)));
  }
  return KernelOf([](std::span<const Tensor> in, std::span<const Tensor> out, std::string& error) {
    int64_t at[kMaxRank];
    for (int i = 0; i < in[0].rank; ++i) at[i] = *in[2 + i].as<int64_t>();
    return Update(in[0], in[1], at, out[0], error);
  });
}

KernelResult MakeUpdateRow(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 3, 1));
  const OperandType& into = request.inputs[0];
  const OperandType& part = request.inputs[1];
  CGRAPH_RETURN_IF_ERROR(ExpectScalar(request, request.inputs[2], DType::i64));
  CGRAPH_RETURN_IF_ERROR(ExpectSameDims(request, into, request.outputs[0]));
  if (into.rank == 0 || part.dtype != into.dtype || request.outputs[0].dtype != into.dtype) {
    return Invalid(request, fmt::format("{} is no row of {}", TypeText(part), TypeText(into)));
  }
  CGRAPH_RETURN_IF_ERROR(ExpectSameDims(request, part, RowOf(into)));
  return KernelOf([](std::span<const Tensor> in, std::span<const Tensor> out, std::string& error) {
    const int64_t row = *in[2].as<int64_t>();
    if (!HasRow(row, in[0].dims[0], error)) return false;
    CopyBytes(out[0].data, in[0].data, in[0].bytes());
    CopyBytes(out[0].as<char>() + row * in[1].bytes(), in[1].data, in[1].bytes());
    return true;
  });
}

}  // namespace cgraph::device
