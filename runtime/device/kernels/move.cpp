// Kernels that move elements without looking at them, for every dtype; and casts.
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "runtime/device/kernels/makers.h"

namespace cgraph::device {
namespace {

// Truncates; to an integer it saturates and NaN becomes 0, where C++ would be undefined.
template <typename To, typename From>
To CastTo(From x) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (x != x) return 0;
    // 2^digits is exact in every float type, the greatest To may not be.
    const From limit = std::ldexp(From(1), std::numeric_limits<To>::digits);
    if (x >= limit) return std::numeric_limits<To>::max();
    if (x <= (std::is_signed_v<To> ? -limit : From(0))) return std::numeric_limits<To>::lowest();
  }
  return static_cast<To>(x);
}

template <typename From, typename To>
std::unique_ptr<Kernel> CastKernel() {
  return KernelOf([](std::span<const Tensor> in, std::span<const Tensor> out) {
    const int64_t count = out[0].elements();
    for (int64_t i = 0; i < count; ++i) out[0].as<To>()[i] = CastTo<To>(in[0].as<From>()[i]);
  });
}

template <typename From>
std::unique_ptr<Kernel> CastToBool() {
  return KernelOf([](std::span<const Tensor> in, std::span<const Tensor> out) {
    const int64_t count = out[0].elements();
    for (int64_t i = 0; i < count; ++i) out[0].as<uint8_t>()[i] = in[0].as<From>()[i] != 0;
  });
}

bool Slice(int dim, const Tensor& x, int64_t from, int64_t length, const Tensor& out,
           std::string& error) {
  const int64_t extent = x.dims[dim];
  if (from < 0 || length < 0 || from > extent || length > extent - from) {
    error = fmt::format("slice of {} elements from {} on, of a dimension of {}", length, from,
                        extent);
    return false;
  }
  if (out.dims[dim] != length) {
    error = fmt::format("slice of {} elements into a result of {}", length, out.dims[dim]);
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

bool Update(const Tensor& into, const Tensor& part, int64_t at, const Tensor& out,
            std::string& error) {
  if (at < 0 || at >= into.dims[0]) {
    error = fmt::format("update of row {}, of {} rows", at, into.dims[0]);
    return false;
  }
  CopyBytes(out.data, into.data, Bytes(into));
  CopyBytes(out.as<char>() + at * Bytes(part), part.data, Bytes(part));
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
    CopyBytes(out[0].data, in[0].data, Bytes(in[0]));
  });
}

KernelResult MakeCast(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 1, 1));
  CGRAPH_RETURN_IF_ERROR(ExpectSameDims(request, request.inputs[0], request.outputs[0]));
  const DType from_dtype = request.inputs[0].dtype, to_dtype = request.outputs[0].dtype;
  std::unique_ptr<Kernel> kernel;
  WithType(from_dtype, [&](auto from) {
    using From = decltype(from);
    if (to_dtype == DType::bool_) {
      kernel = CastToBool<From>();
    } else {
      WithType(to_dtype, [&](auto to) { kernel = CastKernel<From, decltype(to)>(); });
    }
  });
  if (kernel != nullptr) return kernel;
  return Status(StatusCode::kUnsupported,
                fmt::format("kernel `cast` has no CPU version from {} to {}",
                            plan::DTypeName(from_dtype), plan::DTypeName(to_dtype)));
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
    const int64_t row = Bytes(out[0]) / static_cast<int64_t>(in.empty() ? 1 : in.size());
    for (size_t i = 0; i < in.size(); ++i) {
      CopyBytes(out[0].as<char>() + static_cast<int64_t>(i) * row, in[i].data, row);
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
    return Update(in[0], in[1], *in[2].as<int64_t>(), out[0], error);
  });
}

}  // namespace cgraph::device
