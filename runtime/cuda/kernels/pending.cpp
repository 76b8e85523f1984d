// Kernels that have no version for CUDA devices yet.
#include <fmt/format.h>

#include "runtime/cuda/kernels/makers.h"

namespace cgraph::cuda {
namespace {

ExecutableResult NotYet(const Making& making) {
  return Status(StatusCode::kUnsupported,
                fmt::format("kernel `{}` has no CUDA version", making.request.kernel));
}

}  // namespace

ExecutableResult MakeCausalMask(const Making& making) { return NotYet(making); }
ExecutableResult MakeCollective(const Making& making) { return NotYet(making); }
ExecutableResult MakeTranspose(const Making& making) { return NotYet(making); }
ExecutableResult MakePermute(const Making& making) { return NotYet(making); }
ExecutableResult MakeExpand(const Making& making) { return NotYet(making); }
ExecutableResult MakeStack(const Making& making) { return NotYet(making); }
ExecutableResult MakeConcat(const Making& making) { return NotYet(making); }
ExecutableResult MakeSplit(const Making& making) { return NotYet(making); }
ExecutableResult MakeSlice(const Making& making) { return NotYet(making); }
ExecutableResult MakeUpdate(const Making& making) { return NotYet(making); }
ExecutableResult MakeUpdateRow(const Making& making) { return NotYet(making); }
ExecutableResult MakeLook(const Making& making) { return NotYet(making); }
ExecutableResult MakeGatherRows(const Making& making) { return NotYet(making); }
ExecutableResult MakeGatherRowsGrad(const Making& making) { return NotYet(making); }
ExecutableResult MakeSame(const Making& making) { return NotYet(making); }
ExecutableResult MakeCheck(const Making& making) { return NotYet(making); }
ExecutableResult MakeSleep(const Making& making) { return NotYet(making); }
ExecutableResult MakeProbe(const Making& making) { return NotYet(making); }

}  // namespace cgraph::cuda
