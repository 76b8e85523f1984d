// Elementwise kernels with broadcasting: looks the kernel of operation and dtype up, and prepares
// the walk through the result where the host knows all extents.
#include <array>
#include <utility>

#include "runtime/device/cuda/kernels/elementwise/arguments.h"
#include "runtime/device/cuda/kernels/makers.h"

namespace cgraph::cuda {
namespace {

template <int operands>
std::unique_ptr<CudaExecutable> MakeLoop(const Launcher& launcher, CUfunction function) {
  return ExecutableOf([launcher, function](const Call& call) {
    Elementwise<operands> arguments;
    arguments.out = call.outputs[0];
    arguments.known = IsKnown(arguments.out);
    Dims in[operands];
    for (int o = 0; o < operands; ++o) {
      arguments.in[o] = call.inputs[o];
      arguments.known &= IsKnown(call.inputs[o]);
      in[o] = BoundsOf(call.inputs[o]);
    }
    const Dims out = BoundsOf(arguments.out);
    FillWalk(in, out, arguments.walk);
    return launcher.Items(call, function, out.elements(), arguments);
  });
}

using LoopMaker = std::unique_ptr<CudaExecutable> (*)(const Launcher&, CUfunction);
template <size_t... before>
constexpr std::array<LoopMaker, sizeof...(before)> LoopMakers(std::index_sequence<before...>) {
  return {&MakeLoop<static_cast<int>(before) + 1>...};
}

}  // namespace

std::unique_ptr<CudaExecutable> MakeElementwise(const Launcher& launcher, CUfunction function,
                                                size_t operands) {
  static constexpr auto kMakers = LoopMakers(std::make_index_sequence<kMostLoopOperands>());
  return kMakers.at(operands - 1)(launcher, function);
}

ExecutableResult MakeOperation(const Making& making, const char* operation) {
  Result<CUfunction> function = making.Find(operation, making.in(0).dtype);
  if (!function.ok()) return function.status();
  return MakeElementwise(making.launcher, *function, making.request.inputs.size());
}

ExecutableResult MakeSelection(const Making& making, const char* operation) {
  Result<CUfunction> function = making.FindByWidth(operation, making.out().dtype);
  if (!function.ok()) return function.status();
  return MakeElementwise(making.launcher, *function, 3);
}

ExecutableResult MakeExpand(const Making& making) {
  Result<CUfunction> function = making.FindByWidth("Expand", making.out().dtype);
  if (!function.ok()) return function.status();
  return MakeElementwise(making.launcher, *function, 1);
}

ExecutableResult MakeCast(const Making& making) {
  Result<CUfunction> function = making.Find(
      "Cast_" + std::string(ElementName(making.in(0).dtype)) + "_" +
      std::string(plan::DTypeName(making.out().dtype)));
  if (!function.ok()) return function.status();
  return MakeElementwise(making.launcher, *function, 1);
}

}  // namespace cgraph::cuda
