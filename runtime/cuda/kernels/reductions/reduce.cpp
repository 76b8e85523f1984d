// Reductions of all elements, along a dimension, and over the dimensions that broadcasting added.
//
// A block's threads are divided between columns and the elements of a column, and long columns are
// cut into parts until there are enough blocks. Both depend on the bounds of the extents and on
// nothing else, so that every device adds in the same order.
#include <algorithm>
#include <bit>

#include "runtime/cuda/kernels/makers.h"
#include "runtime/cuda/kernels/reductions/layout.h"

namespace cgraph::cuda {
namespace {

constexpr int64_t kBlocks = 1024;      // enough for any device
constexpr int64_t kLeastLoops = 16;    // elements of a thread, before columns are cut
constexpr uint64_t kMostStateBytes = 16;

struct Division {
  int32_t width, height;
  bool contiguous;
  int64_t parts, blocks;
};
int64_t CeilOf(int64_t x, int64_t by) { return x / by + (x % by != 0); }
int64_t PowerAtLeast(int64_t x) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(x, 1))));
}

Division DivisionOf(int64_t columns, int64_t along, bool contiguous) {
  int64_t height;
  if (contiguous) {
    height = std::min<int64_t>(PowerAtLeast(CeilOf(along, 4)), kThreads);
  } else {
    height = kThreads / std::min<int64_t>(PowerAtLeast(columns), 32);
    while (height > 1 && along <= 2 * height) height /= 2;
  }
  const int64_t width = kThreads / height, groups = CeilOf(columns, width);
  const int64_t most = along / (height * kLeastLoops);
  const int64_t parts =
      std::max<int64_t>(std::min(CeilOf(kBlocks, std::max<int64_t>(groups, 1)), most), 1);
  return {static_cast<int32_t>(width), static_cast<int32_t>(height), contiguous, parts,
          groups * parts};
}
Division DivisionOf(const Layout& layout) {
  const bool contiguous = layout.along.rank > 0 && layout.along.strides[0] == 1;
  return DivisionOf(layout.columns.count, layout.along.count, contiguous);
}

Dims BoundsOf(const device::OperandType& type) {
  Dims dims{type.rank, {}};
  std::copy(type.dims, type.dims + type.rank, dims.of);
  return dims;
}

void Divide(const Division& division, Reduction& reduction) {
  reduction.width = division.width;
  reduction.height = division.height;
  reduction.contiguous = division.contiguous;
}

ExecutableResult MakeReduction(const Making& making, const char* name, int dim) {
  Result<CUfunction> function = making.Find(name, making.in(0).dtype);
  if (!function.ok()) return function.status();
  const Layout bounds = LayoutOf(BoundsOf(making.in(0)), BoundsOf(making.out()), dim);
  const Division division = DivisionOf(bounds);
  const auto launch = [launcher = making.launcher, function = *function, dim, bounds,
                       division](const Call& call) {
    Reduction reduction;
    reduction.x = call.inputs[0];
    reduction.out = call.outputs[0];
    reduction.dim = dim;
    reduction.parts = division.parts;
    reduction.partials = call.scratch;
    reduction.known = IsKnown(reduction.x) && IsKnown(reduction.out);
    reduction.layout = LayoutOf(BoundsOf(reduction.x), BoundsOf(reduction.out), dim);
    Divide(division, reduction);
    const CUresult result =
        launcher.Blocks(call, function, division.blocks, kThreads, reduction);
    if (result != CUDA_SUCCESS || division.parts == 1) return result;
    const Division second = DivisionOf(bounds.columns.count, division.parts, false);
    Divide(second, reduction);
    reduction.second = true;
    return launcher.Blocks(call, function, CeilOf(bounds.columns.count, second.width), kThreads,
                           reduction);
  };
  uint64_t scratch = 0;
  if (division.parts > 1) {
    scratch = static_cast<uint64_t>(division.parts * bounds.columns.count) * kMostStateBytes;
  }
  return ExecutableOf(launch, {.scratch = scratch});
}

ExecutableResult MakeAlong(const Making& making, const char* name) {
  return MakeReduction(making, name,
                       *device::DimAttribute(making.request, "dim", making.in(0)));
}

}  // namespace

ExecutableResult MakeSum(const Making& making) { return MakeReduction(making, "Sum", kAllDims); }
ExecutableResult MakeMean(const Making& making) { return MakeReduction(making, "Mean", kAllDims); }
ExecutableResult MakeMax(const Making& making) { return MakeReduction(making, "Max", kAllDims); }
ExecutableResult MakeMin(const Making& making) { return MakeReduction(making, "Min", kAllDims); }
ExecutableResult MakeSumDim(const Making& making) { return MakeAlong(making, "Sum"); }
ExecutableResult MakeMeanDim(const Making& making) { return MakeAlong(making, "Mean"); }
ExecutableResult MakeMaxDim(const Making& making) { return MakeAlong(making, "Max"); }
ExecutableResult MakeMinDim(const Making& making) { return MakeAlong(making, "Min"); }
ExecutableResult MakeArgmax(const Making& making) { return MakeAlong(making, "Argmax"); }
ExecutableResult MakeSumTo(const Making& making) {
  return MakeReduction(making, "Sum", kBroadcastDims);
}

}  // namespace cgraph::cuda
