// slice, update and update_row, and look, which tells whether one of them would fail: a check of
// the places, which lie on the device, and then the copies.
#include "runtime/device/cpu/kernels/failures.h"
#include "runtime/device/cuda/kernels/makers.h"
#include "runtime/device/cuda/kernels/move/arguments.h"

namespace cgraph::cuda {
namespace {

const int64_t* PlaceOf(const View& scalar) { return static_cast<const int64_t*>(scalar.data); }

std::string SpanText(const char* op, const Failure& failure) {
  const int64_t* numbers = failure.numbers;
  if (failure.code == kOtherResult) return device::SliceResultText(numbers[0], numbers[1]);
  return device::NoFitText(op, numbers[0], numbers[1], numbers[2]);
}
std::string RowText(const Failure& failure) {
  return device::NoRowText(failure.numbers[1], failure.numbers[2]);
}

ExecutableResult MakeLookAtSpans(const Making& making, const char* op,
                                 std::vector<int64_t> extents, std::vector<int64_t> lengths) {
  Result<CUfunction> check = making.Find("CheckSpans");
  if (!check.ok()) return check.status();
  const auto launch = [launcher = making.launcher, check = *check, extents = std::move(extents),
                       lengths = std::move(lengths)](const Call& call) {
    Spans spans;
    size_t next = extents.size();  // of the operands that are lengths, as a slice's is
    for (const int64_t extent : extents) {
      const auto i = static_cast<size_t>(spans.count++);
      const bool known = !lengths.empty() && lengths[i] >= 0;
      const Extent length = known ? Extent{lengths[i], nullptr}
                                  : Extent{0, PlaceOf(call.inputs[next++])};
      spans.span[i] = {PlaceOf(call.inputs[i]), length, {extent, nullptr}};
    }
    return launcher.Blocks(call, check, 1, 1, spans);
  };
  return ExecutableOf(
      launch, {.error_text = [op](const Failure& failure) { return SpanText(op, failure); }});
}

}  // namespace

ExecutableResult MakeSlice(const Making& making) {
  Result<CUfunction> check = making.Find("CheckSpans");
  if (!check.ok()) return check.status();
  Result<CUfunction> function = making.Find("Slice");
  if (!function.ok()) return function.status();
  const int64_t dim = *device::DimAttribute(making.request, "dim", making.in(0));
  const int64_t width = plan::DTypeBytes(making.out().dtype);
  const auto launch = [launcher = making.launcher, check = *check, function = *function, dim,
                       width](const Call& call) {
    const View& x = call.inputs[0];
    const View& out = call.outputs[0];
    const int64_t* from = PlaceOf(call.inputs[1]);
    Spans spans;
    spans.count = 1;
    spans.span[0] = {from, {0, PlaceOf(call.inputs[2])}, x.dims[dim]};
    spans.has_result = true;
    spans.result = out.dims[dim];
    const CUresult result = launcher.Blocks(call, check, 1, 1, spans);
    if (result != CUDA_SUCCESS) return result;
    const int64_t words = (BoundOfElements(out) * width + 15) / 16;
    return launcher.Items(Checked(call), function, words, x, from, out, dim, width);
  };
  return ExecutableOf(launch, {.error_text = [](const Failure& failure) {
    return SpanText("slice", failure);
  }});
}

ExecutableResult MakeUpdate(const Making& making) {
  Result<CUfunction> check = making.Find("CheckSpans");
  if (!check.ok()) return check.status();
  Result<CopyKernel> copy = CopyKernel::Make(making, making.out().dtype);
  if (!copy.ok()) return copy.status();
  Result<CUfunction> function = making.Find("WriteBox");
  if (!function.ok()) return function.status();
  const int64_t width = plan::DTypeBytes(making.out().dtype);
  const auto launch = [launcher = making.launcher, check = *check, copy = *copy,
                       function = *function, width](const Call& call) {
    Box box;
    box.into = call.inputs[0];
    box.part = call.inputs[1];
    box.out = call.outputs[0].data;
    box.width = width;
    Spans spans;
    spans.count = box.into.rank;
    for (int i = 0; i < box.into.rank; ++i) {
      box.at[i] = PlaceOf(call.inputs[static_cast<size_t>(2 + i)]);
      spans.span[i] = {box.at[i], box.part.dims[i], box.into.dims[i]};
    }
    const CUresult result = launcher.Blocks(call, check, 1, 1, spans);
    if (result != CUDA_SUCCESS) return result;
    const Call checked = Checked(call);
    const CUresult copied = copy(checked, box.into, box.out);
    if (copied != CUDA_SUCCESS) return copied;
    const int64_t words = (BoundOfElements(box.part) * width + 15) / 16;
    return launcher.Items(checked, function, words, box);
  };
  return ExecutableOf(launch, {.error_text = [](const Failure& failure) {
    return SpanText("update", failure);
  }});
}

ExecutableResult MakeUpdateRow(const Making& making) {
  Result<OutsideCheck> check = OutsideCheck::Make(making);
  if (!check.ok()) return check.status();
  Result<CopyKernel> copy = CopyKernel::Make(making, making.out().dtype);
  if (!copy.ok()) return copy.status();
  Result<CUfunction> function = making.Find("WriteRow");
  if (!function.ok()) return function.status();
  const int64_t width = plan::DTypeBytes(making.out().dtype);
  const auto launch = [launcher = making.launcher, check = *check, copy = *copy,
                       function = *function, width](const Call& call) {
    const View& into = call.inputs[0];
    const View& row = call.inputs[1];
    void* out = call.outputs[0].data;
    const CUresult result = check(call, call.inputs[2], into.dims[0]);
    if (result != CUDA_SUCCESS) return result;
    const Call checked = Checked(call);
    const CUresult copied = copy(checked, into, out);
    if (copied != CUDA_SUCCESS) return copied;
    const int64_t words = (BoundOfElements(row) * width + 15) / 16;
    return launcher.Items(checked, function, words, row, PlaceOf(call.inputs[2]), out, width);
  };
  return ExecutableOf(launch, {.error_text = RowText});
}

ExecutableResult MakeLook(const Making& making) {
  const std::string op = *device::TextAttribute(making.request, "op");
  const std::vector<int64_t> extents = *device::IntsAttribute(making.request, "extents");
  const std::vector<int64_t> lengths = *device::IntsAttribute(making.request, "lengths");
  if (op == "attention") return MakeLookAtLengths(making, lengths.front(), extents.front());
  if (op == "slice") return MakeLookAtSpans(making, "slice", extents, {});
  if (op == "update") return MakeLookAtSpans(making, "update", extents, lengths);
  Result<OutsideCheck> check = OutsideCheck::Make(making);  // update_row
  if (!check.ok()) return check.status();
  const auto launch = [check = *check, rows = extents.front()](const Call& call) {
    return check(call, call.inputs[0], {rows, nullptr});
  };
  return ExecutableOf(launch, {.error_text = RowText});
}

ExecutableResult MakeSame(const Making& making) {
  Result<CUfunction> check = making.Find("CheckSame");
  if (!check.ok()) return check.status();
  Result<CopyKernel> copy = CopyKernel::Make(making, making.out().dtype);
  if (!copy.ok()) return copy.status();
  const int dim = *device::DimAttribute(making.request, "dim", making.in(0));
  const auto launch = [launcher = making.launcher, check = *check, copy = *copy,
                       dim](const Call& call) {
    const Extent& a = call.inputs[0].dims[dim];
    const Extent& b = call.inputs[1].dims[dim];
    const CUresult result = launcher.Blocks(call, check, 1, 1, a, b);
    if (result != CUDA_SUCCESS) return result;
    return copy(Checked(call), call.inputs[1], call.outputs[0].data);
  };
  return ExecutableOf(launch, {.error_text = [dim](const Failure& failure) {
    return device::NotSameText(dim, failure.numbers[0], failure.numbers[1]);
  }});
}

}  // namespace cgraph::cuda
