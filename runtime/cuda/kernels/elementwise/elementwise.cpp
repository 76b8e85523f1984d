// Elementwise kernels with broadcasting: looks the kernel of operation and dtype up, and prepares
// the walk through the result where the host knows all extents.
#include "runtime/cuda/kernels/elementwise/arguments.h"
#include "runtime/cuda/kernels/makers.h"

namespace cgraph::cuda {
namespace {

template <int operands>
std::unique_ptr<CudaExecutable> MakeElementwise(const Launcher& launcher, CUfunction function) {
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
    arguments.walk = WalkOf(in, out);
    return launcher.Items(call, function, out.elements(), arguments);
  });
}

}  // namespace

ExecutableResult MakeOperation(const Making& making, const char* operation) {
  Result<CUfunction> function = making.Find(operation, making.in(0).dtype);
  if (!function.ok()) return function.status();
  return making.request.inputs.size() == 1 ? MakeElementwise<1>(making.launcher, *function)
                                           : MakeElementwise<2>(making.launcher, *function);
}

ExecutableResult MakeSelection(const Making& making, const char* operation) {
  Result<CUfunction> function = making.FindByWidth(operation, making.out().dtype);
  if (!function.ok()) return function.status();
  return MakeElementwise<3>(making.launcher, *function);
}

ExecutableResult MakeExpand(const Making& making) {
  Result<CUfunction> function = making.FindByWidth("Expand", making.out().dtype);
  if (!function.ok()) return function.status();
  return MakeElementwise<1>(making.launcher, *function);
}

ExecutableResult MakeCast(const Making& making) {
  Result<CUfunction> function = making.Find(
      "Cast_" + std::string(ElementName(making.in(0).dtype)) + "_" +
      std::string(plan::DTypeName(making.out().dtype)));
  if (!function.ok()) return function.status();
  return MakeElementwise<1>(making.launcher, *function);
}

}  // namespace cgraph::cuda
