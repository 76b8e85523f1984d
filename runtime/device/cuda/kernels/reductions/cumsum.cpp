// cumsum and its gradient: one grid, or three where there are few rows.
//
// Into how many parts rows are cut depends on the bounds of the extents and on nothing else, so
// that every device adds in the same order.
#include <algorithm>

#include "runtime/device/cuda/kernels/makers.h"
#include "runtime/device/cuda/kernels/reductions/arguments.h"
#include "runtime/device/cuda/kernels/rows/arguments.h"

namespace cgraph::cuda {
namespace {

constexpr int64_t kEnough = int64_t{1} << 16;  // threads
constexpr int64_t kLeastLength = 32, kMostParts = 8192;
constexpr uint64_t kSumBytes = 8;

ExecutableResult MakeCumulative(const Making& making, bool from_end) {
  const DType dtype = making.out().dtype;
  Result<CUfunction> parts = making.Find("SumParts", dtype), join = making.Find("JoinParts", dtype);
  Result<CUfunction> write = making.Find("WriteSums", dtype);
  if (!parts.ok()) return parts.status();
  if (!join.ok()) return join.status();
  if (!write.ok()) return write.status();
  Cumulative sums;
  sums.dim = *device::DimAttribute(making.request, "dim", making.in(0));
  sums.from_end = from_end;
  const RowShape shape = RowsOf(BoundsOf(making.in(0)), sums.dim);
  const int64_t wanted = std::min(kEnough / std::max<int64_t>(shape.rows, 1), kMostParts);
  sums.parts = std::max<int64_t>(std::min(wanted, shape.along / kLeastLength), 1);
  sums.length = (shape.along + sums.parts - 1) / sums.parts;
  const auto launch = [launcher = making.launcher, parts = *parts, join = *join, write = *write,
                       sums, rows = shape.rows](const Call& call) {
    Cumulative arguments = sums;
    arguments.x = call.inputs[0];
    arguments.out = call.outputs[0].data;
    arguments.sums = call.scratch;
    CUresult result = CUDA_SUCCESS;
    if (sums.parts > 1) {
      result = launcher.Items(call, parts, rows * sums.parts, arguments);
      if (result == CUDA_SUCCESS) {
        result = launcher.Blocks(call, join, std::min(rows, launcher.most()), kJoiningThreads,
                                 arguments);
      }
    }
    if (result != CUDA_SUCCESS) return result;
    return launcher.Items(call, write, rows * sums.parts, arguments);
  };
  const auto count = static_cast<uint64_t>(shape.rows * sums.parts);
  return ExecutableOf(launch,
                      {.scratch = sums.parts > 1 ? count * kSumBytes : 0, .error_text = {}});
}

}  // namespace

ExecutableResult MakeCumsum(const Making& making) { return MakeCumulative(making, false); }
ExecutableResult MakeCumsumGrad(const Making& making) { return MakeCumulative(making, true); }

}  // namespace cgraph::cuda
