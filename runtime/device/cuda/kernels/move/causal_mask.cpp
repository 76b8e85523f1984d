// causal_mask.
#include "runtime/device/cuda/kernels/makers.h"

namespace cgraph::cuda {

ExecutableResult MakeCausalMask(const Making& making) {
  Result<CUfunction> function = making.Find("CausalMask", making.out().dtype);
  if (!function.ok()) return function.status();
  return ExecutableOf([launcher = making.launcher, function = *function](const Call& call) {
    const View& x = call.inputs[0];
    return launcher.Items(call, function, BoundOfElements(x), x, call.outputs[0]);
  });
}

}  // namespace cgraph::cuda
