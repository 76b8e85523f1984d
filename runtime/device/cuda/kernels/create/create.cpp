// Makers of the kernels that make tensors out of nothing; random/ has those of random numbers.
#include <cstring>

#include "runtime/device/cuda/kernels/makers.h"

namespace cgraph::cuda {
namespace {

// `element` begins with an element, as it is stored.
ExecutableResult MakeFill(const Making& making, uint64_t element) {
  Result<CUfunction> function = making.Find("Fill");
  if (!function.ok()) return function.status();
  const int64_t width = plan::DTypeBytes(making.out().dtype);
  uint64_t pattern = 0;
  for (int64_t at = 0; at < 8; at += width) {
    std::memcpy(reinterpret_cast<char*>(&pattern) + at, &element, static_cast<size_t>(width));
  }
  return ExecutableOf([launcher = making.launcher, function = *function, width,
                       pattern](const Call& call) {
    const int64_t bytes = BoundOfElements(call.outputs[0]) * width;
    return launcher.Items(call, function, (bytes + 15) / 16, call.outputs[0], width, pattern);
  });
}

ExecutableResult MakeFilled(const Making& making, double value) {
  uint64_t element = 0;
  device::WithType(making.out().dtype, [&](auto zero) {
    const auto of_type = static_cast<decltype(zero)>(value);
    std::memcpy(&element, &of_type, sizeof(of_type));
  });
  return MakeFill(making, element);
}

}  // namespace

ExecutableResult MakeZeros(const Making& making) { return MakeFill(making, 0); }
ExecutableResult MakeOnes(const Making& making) { return MakeFilled(making, 1); }
ExecutableResult MakeFull(const Making& making) {
  return MakeFilled(making, *device::FloatAttribute(making.request, "value"));
}

ExecutableResult MakeIota(const Making& making) {
  Result<CUfunction> function = making.Find("Iota", making.out().dtype);
  if (!function.ok()) return function.status();
  return ExecutableOf([launcher = making.launcher, function = *function](const Call& call) {
    return launcher.Items(call, function, BoundOfElements(call.outputs[0]), call.outputs[0]);
  });
}

}  // namespace cgraph::cuda
