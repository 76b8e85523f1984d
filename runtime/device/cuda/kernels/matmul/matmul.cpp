// matmul by the kernels of this library, which take every dtype and extents that only the device
// knows.
#include "runtime/device/cpu/kernels/failures.h"
#include "runtime/device/cuda/kernels/makers.h"
#include "runtime/device/cuda/kernels/matmul/library_product.h"

namespace cgraph::cuda {
namespace {

// Returns whether the batch of `a` is that of the result, so that its matrices are rows of one.
bool MayFold(const Making& making, bool transpose_a) {
  const device::OperandType& a = making.in(0);
  const device::OperandType& c = making.out();
  if (transpose_a || a.rank != c.rank) return false;
  for (int i = 0; i < a.rank - 2; ++i) {
    if (!device::SameDim(a, i, c, i)) return false;
  }
  return true;
}

}  // namespace

ExecutableResult MakeMatmul(const Making& making) {
  Result<CUfunction> function = making.Find("Matmul", making.out().dtype);
  if (!function.ok()) return function.status();
  Result<CUfunction> check = making.Find("CheckMatmul");
  if (!check.ok()) return check.status();
  Matmul matmul;
  matmul.transpose_a = *device::BoolAttribute(making.request, "transpose_a");
  matmul.transpose_b = *device::BoolAttribute(making.request, "transpose_b");
  matmul.may_fold = MayFold(making, matmul.transpose_a);
  const auto launch = [launcher = making.launcher, function = *function, check = *check,
                       matmul](const Call& call) {
    Matmul arguments = matmul;
    arguments.a = call.inputs[0];
    arguments.b = call.inputs[1];
    arguments.c = call.outputs[0];
    const Dims a = BoundsOf(arguments.a), b = BoundsOf(arguments.b), c = BoundsOf(arguments.c);
    const bool known = IsKnown(arguments.a) && IsKnown(arguments.b) && IsKnown(arguments.c);
    const bool checks = !known || !ExtentsFit(arguments, a, b, c);
    if (checks) {
      const CUresult result = launcher.Blocks(call, check, 1, 1, arguments);
      if (result != CUDA_SUCCESS) return result;
    }
    return launcher.Blocks(checks ? Checked(call) : call, function,
                           ShapeOf(arguments, a, b, c).tiles(), kThreads, arguments);
  };
  std::unique_ptr<CudaExecutable> own = ExecutableOf(
      launch, {.error_text = [](const Failure&) { return device::kMatmulExtentsText; }});
  return ExecutableResult(WithLibraryProduct(making, matmul, std::move(own)));
}

}  // namespace cgraph::cuda
