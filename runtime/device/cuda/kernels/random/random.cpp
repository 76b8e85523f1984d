// normal, uniform and dropout. The seed is an operand or, of normal, may be an attribute.
#include "runtime/device/cuda/kernels/makers.h"
#include "runtime/device/numbers/normal_numbers.h"

namespace cgraph::cuda {

ExecutableResult MakeNormal(const Making& making) {
  Result<CUfunction> function = making.Find("Normal", making.out().dtype);
  if (!function.ok()) return function.status();
  const bool fixed = making.request.inputs.empty();
  const uint64_t stream =
      fixed ? device::StreamOf(*device::IntAttribute(making.request, "seed")) : 0;
  return ExecutableOf(
      [launcher = making.launcher, function = *function, fixed, stream](const Call& call) {
        const int64_t count = BoundOfElements(call.outputs[0]);
        const void* seed = fixed ? nullptr : call.inputs[0].data;
        return launcher.Items(call, function, count, call.outputs[0], stream, seed);
      });
}

ExecutableResult MakeUniform(const Making& making) {
  Result<CUfunction> function = making.Find("Uniform", making.out().dtype);
  if (!function.ok()) return function.status();
  return ExecutableOf([launcher = making.launcher, function = *function](const Call& call) {
    const int64_t count = BoundOfElements(call.outputs[0]);
    return launcher.Items(call, function, count, call.outputs[0], call.inputs[0].data);
  });
}

ExecutableResult MakeDropout(const Making& making) {
  Result<CUfunction> function = making.Find("Dropout", making.out().dtype);
  if (!function.ok()) return function.status();
  const double p = *device::FloatAttribute(making.request, "p");
  return ExecutableOf([launcher = making.launcher, function = *function, p](const Call& call) {
    const View& x = call.inputs[0];
    return launcher.Items(call, function, BoundOfElements(x), x, call.outputs[0].data,
                          call.inputs[1].data, p);
  });
}

}  // namespace cgraph::cuda
