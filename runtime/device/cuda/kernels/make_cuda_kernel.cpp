// MakeCudaKernel: looks a kernel of the plan up in kernels.def and calls its maker for CUDA
// devices.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "runtime/device/cpu/kernels/makers.h"
#include "runtime/device/cuda/kernels/makers.h"

namespace cgraph::cuda {
namespace {

struct Entry {
  std::string_view name;
  ExecutableResult (*make)(const Making& making);
};
constexpr Entry kKernels[] = {
#define BINARY(name, operation, dtypes) \
  {name, [](const Making& making) { return MakeOperation(making, #operation); }},
#define COMPARE(name, operation, dtypes) BINARY(name, operation, dtypes)
#define UNARY(name, operation, dtypes) BINARY(name, operation, dtypes)
#define TERNARY(name, operation, dtypes) BINARY(name, operation, dtypes)
#define SELECT(name, operation, dtypes) \
  {name, [](const Making& making) { return MakeSelection(making, #operation); }},
#define KERNEL(name, maker) {name, maker},
#include "runtime/device/cpu/kernels/kernels.def"
};

}  // namespace

std::string_view ElementName(DType dtype) {
  return plan::DTypeName(dtype == DType::bool_ ? DType::u8 : dtype);
}

Dims BoundsOf(const device::OperandType& type) {
  Dims dims{type.rank, {}};
  std::copy(type.dims, type.dims + type.rank, dims.of);
  return dims;
}

Result<CUfunction> Making::Find(const std::string& name, DType dtype) const {
  return Find(fmt::format("{}_{}", name, ElementName(dtype)));
}

Result<CUfunction> Making::FindByWidth(const std::string& name, DType dtype) const {
  return Find(fmt::format("{}_u{}", name, 8 * plan::DTypeBytes(dtype)));
}

ExecutableResult MakePrimitive(const Target& target, const Launcher& launcher,
                               const plan::Primitive& primitive,
                               std::span<const device::OperandType> inputs,
                               std::span<const device::OperandType> outputs) {
  const auto entry = std::find_if(std::begin(kKernels), std::end(kKernels),
                                  [&](const Entry& e) { return e.name == primitive.op; });
  if (entry == std::end(kKernels)) {
    return Status(StatusCode::kUnsupported, fmt::format("there is no kernel `{}`", primitive.op));
  }
  const device::Request request{primitive.op, primitive.attributes, inputs, outputs};
  return entry->make({target, launcher, request});
}

Result<std::unique_ptr<CudaExecutable>> MakeCudaKernel(
    const Target& target, const plan::Kernel& kernel,
    std::span<const device::OperandType> inputs, std::span<const device::OperandType> outputs) {
  CGRAPH_RETURN_IF_ERROR(device::CheckKernel(kernel, inputs, outputs));
  Result<Launcher> launcher = Launcher::Make(target);
  if (!launcher.ok()) return launcher.status();
  if (kernel.body.size() != 1) return MakeFused(target, *launcher, kernel, inputs, outputs);
  return MakePrimitive(target, *launcher, *kernel.body[0], inputs, outputs);
}

}  // namespace cgraph::cuda
