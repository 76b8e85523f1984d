// one_hot: a check of the indices, and then the rows.
#include "runtime/device/cpu/kernels/failures.h"
#include "runtime/device/cuda/kernels/makers.h"

namespace cgraph::cuda {

ExecutableResult MakeOneHot(const Making& making) {
  Result<OutsideCheck> check = OutsideCheck::Make(making);
  if (!check.ok()) return check.status();
  Result<CUfunction> function = making.Find("OneHot", making.out().dtype);
  if (!function.ok()) return function.status();
  const auto launch = [launcher = making.launcher, check = *check,
                       function = *function](const Call& call) {
    const View& out = call.outputs[0];
    const CUresult result = check(call, call.inputs[0], out.dims[out.rank - 1]);
    if (result != CUDA_SUCCESS) return result;
    return launcher.Items(Checked(call), function, BoundOfElements(out), call.inputs[0].data, out);
  };
  return ExecutableOf(launch, {.scratch = 0, .error_text = [](const Failure& failure) {
                                 return device::NotAlongText("one_hot", failure.numbers[0],
                                                             failure.numbers[1],
                                                             failure.numbers[2]);
                               }});
}

}  // namespace cgraph::cuda
