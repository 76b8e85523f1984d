// Kernels that make tensors out of nothing, except `normal` (normal.cpp).
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "runtime/device/cpu/kernels/makers.h"

namespace cgraph::device {
namespace {

template <typename T>
KernelResult Filled(T value) {
  return KernelResult(KernelOf([value](std::span<const Tensor>, std::span<const Tensor> out) {
    // A copy: a store of an element might change `value`, as far as the compiler knows, so that it
    // would read it again each time.
    const T element = value;
    std::fill_n(out[0].as<T>(), out[0].elements(), element);
  }));
}

KernelResult MakeFilled(const Request& request, double value) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 0, 1));
  const DType dtype = request.outputs[0].dtype;
  if (!Contains(DTypes::kNumber, dtype)) return NoKernel(request);
  KernelResult kernel = NoKernel(request);
  WithType(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      const double limit = std::ldexp(1.0, std::numeric_limits<T>::digits);
      const double least = std::is_signed_v<T> ? -limit : 0.0;
      if (!(value >= least && value < limit) || value != std::floor(value)) {
        kernel = Invalid(request, fmt::format("{} is no {}", value, plan::DTypeName(dtype)));
        return;
      }
    }
    kernel = Filled(static_cast<T>(value));
  });
  return kernel;
}

}  // namespace

KernelResult MakeZeros(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 0, 1));
  return KernelOf([](std::span<const Tensor>, std::span<const Tensor> out) {
    std::fill_n(out[0].as<char>(), out[0].bytes(), 0);
  });
}

KernelResult MakeOnes(const Request& request) { return MakeFilled(request, 1); }

KernelResult MakeFull(const Request& request) {
  Result<double> value = FloatAttribute(request, "value");
  if (!value.ok()) return value.status();
  return MakeFilled(request, *value);
}

KernelResult MakeIota(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 0, 1));
  if (!Contains(DTypes::kNumber, request.outputs[0].dtype)) return NoKernel(request);
  std::unique_ptr<Kernel> kernel;
  WithType(request.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    kernel = KernelOf([](std::span<const Tensor>, std::span<const Tensor> out) {
      const int64_t count = out[0].elements();
      for (int64_t i = 0; i < count; ++i) out[0].as<T>()[i] = static_cast<T>(i);
    });
  });
  return kernel;
}

}  // namespace cgraph::device
