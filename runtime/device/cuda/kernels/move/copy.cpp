// copy and reshape: kernels that give a tensor's elements on as they lie in memory.
#include "runtime/device/cuda/kernels/makers.h"

#include "runtime/device/cpu/kernels/failures.h"

namespace cgraph::cuda {

Result<CopyKernel> CopyKernel::Make(const Making& making, DType dtype) {
  Result<CUfunction> function = making.Find("CopyWhole");
  if (!function.ok()) return function.status();
  return CopyKernel(making.launcher, *function, plan::DTypeBytes(dtype));
}

CUresult CopyKernel::operator()(const Call& call, const View& from, void* to) const {
  if (from.data == to) return launcher_.PassPoison(call);
  const int64_t bytes = BoundOfElements(from) * width_;
  return launcher_.Items(call, function_, (bytes + 15) / 16, from, width_, to);
}

ExecutableResult MakeCopy(const Making& making) {
  Result<CopyKernel> copy = CopyKernel::Make(making, making.out().dtype);
  if (!copy.ok()) return copy.status();
  return ExecutableOf([copy = *copy](const Call& call) {
    return copy(call, call.inputs[0], call.outputs[0].data);
  });
}

ExecutableResult MakeReshape(const Making& making) {
  Result<CopyKernel> copy = CopyKernel::Make(making, making.out().dtype);
  if (!copy.ok()) return copy.status();
  Result<CUfunction> check = making.Find("CheckReshape");
  if (!check.ok()) return check.status();
  const auto launch = [launcher = making.launcher, copy = *copy,
                       check = *check](const Call& call) {
    const View& x = call.inputs[0];
    const View& out = call.outputs[0];
    const bool fits = IsKnown(x) && IsKnown(out) && BoundOfElements(x) == BoundOfElements(out);
    if (fits) return copy(call, x, out.data);
    const CUresult result = launcher.Blocks(call, check, 1, 1, x, out);
    return result != CUDA_SUCCESS ? result : copy(Checked(call), x, out.data);
  };
  return ExecutableOf(launch, {.error_text = [](const Failure& failure) {
    return device::ReshapeText(failure.numbers[0], failure.numbers[1]);
  }});
}

}  // namespace cgraph::cuda
