// cross_entropy and its gradient: a check of the targets, and a kernel of the rows of logits.
#include <algorithm>

#include "runtime/device/cpu/kernels/failures.h"
#include "runtime/device/cuda/kernels/makers.h"
#include "runtime/device/cuda/kernels/rows/launch_rows.h"

namespace cgraph::cuda {
namespace {

ExecutableResult MakeOf(const Making& making, const char* name) {
  Result<OutsideCheck> check = OutsideCheck::Make(making);
  if (!check.ok()) return check.status();
  Result<CUfunction> function = making.Find(name, making.out().dtype);
  if (!function.ok()) return function.status();
  const RowLauncher launch_rows(making.launcher, making.in(0), making.in(0).rank - 1,
                                /*operands=*/1);
  const auto launch = [launch_rows, check = *check, function = *function](const Call& call) {
    const View& logits = call.inputs[0];
    const CUresult result = check(call, call.inputs[1], logits.dims[logits.rank - 1]);
    if (result != CUDA_SUCCESS) return result;
    Rows rows;
    std::copy(call.inputs.begin(), call.inputs.end(), rows.in);
    rows.out = call.outputs[0];
    rows.x = logits;
    return launch_rows(Checked(call), function, rows);
  };
  return ExecutableOf(launch, {.error_text = [](const Failure& failure) {
    return device::NoClassText(failure.numbers[0], failure.numbers[1], failure.numbers[2]);
  }});
}

}  // namespace

ExecutableResult MakeCrossEntropy(const Making& making) { return MakeOf(making, "CrossEntropy"); }
ExecutableResult MakeCrossEntropyGrad(const Making& making) {
  return MakeOf(making, "CrossEntropyGrad");
}

}  // namespace cgraph::cuda
