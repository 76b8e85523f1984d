// gather_rows and gather_rows_grad: a check of the indices, and then the rows.
#include <algorithm>

#include "runtime/device/cpu/kernels/failures.h"
#include "runtime/device/cuda/kernels/indices/arguments.h"
#include "runtime/device/cuda/kernels/makers.h"

namespace cgraph::cuda {
namespace {

constexpr int64_t kWaves = 16;  // of blocks: rows take different times

ExecutableOptions OptionsOf(const char* op, uint64_t scratch) {
  return {.scratch = scratch, .error_text = [op](const Failure& failure) {
    return device::NoIndexText(op, failure.numbers[0], failure.numbers[1], failure.numbers[2]);
  }};
}

}  // namespace

ExecutableResult MakeGatherRows(const Making& making) {
  Result<OutsideCheck> check = OutsideCheck::Make(making);
  if (!check.ok()) return check.status();
  Result<CUfunction> function = making.Find("GatherRows");
  if (!function.ok()) return function.status();
  const int64_t width = plan::DTypeBytes(making.out().dtype);
  const auto launch = [launcher = making.launcher, check = *check, function = *function,
                       width](const Call& call) {
    const View& table = call.inputs[0];
    const View& indices = call.inputs[1];
    const CUresult result = check(call, indices, table.dims[0]);
    if (result != CUDA_SUCCESS) return result;
    const int64_t words = (BoundOfElements(call.outputs[0]) * width + 15) / 16;
    return launcher.Items(Checked(call), function, words, table, indices, call.outputs[0].data,
                          width);
  };
  return ExecutableOf(launch, OptionsOf("embedding", 0));
}

ExecutableResult MakeGatherRowsGrad(const Making& making) {
  Result<OutsideCheck> check = OutsideCheck::Make(making);
  if (!check.ok()) return check.status();
  Result<CUfunction> clear = making.Find("ClearRowUses"), find = making.Find("FindRowUses");
  if (!clear.ok()) return clear.status();
  if (!find.ok()) return find.status();
  Result<CUfunction> add = making.Find("AddUpRows", making.out().dtype);
  if (!add.ok()) return add.status();
  const auto launch = [launcher = making.launcher, check = *check, clear = *clear, find = *find,
                       add = *add](const Call& call) {
    RowSums sums;
    sums.indices = call.inputs[0];
    sums.gradient = call.inputs[1].data;
    sums.out = call.outputs[0];
    sums.uses = static_cast<RowUses*>(call.scratch);
    CUresult result = check(call, sums.indices, sums.out.dims[0]);
    const Call checked = Checked(call);
    const Dims out = BoundsOf(sums.out);
    const int64_t length = out.Product(1, out.rank);
    const int64_t blocks = out.of[0] * (length / kThreads + (length % kThreads != 0));
    if (result == CUDA_SUCCESS) result = launcher.Items(checked, clear, out.of[0], sums);
    if (result == CUDA_SUCCESS) {
      result = launcher.Items(checked, find, BoundOfElements(sums.indices), sums);
    }
    if (result == CUDA_SUCCESS) {
      result = launcher.Blocks(checked, add, std::min(blocks, kWaves * launcher.most()), kThreads,
                               sums);
    }
    return result;
  };
  const auto rows = static_cast<uint64_t>(making.out().dims[0]);
  return ExecutableOf(launch, OptionsOf("embedding_grad", rows * sizeof(RowUses)));
}

}  // namespace cgraph::cuda
