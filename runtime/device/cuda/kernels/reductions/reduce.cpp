// Reductions of all elements, along a dimension, and over the dimensions that broadcasting added.
//
// Long columns are cut into parts until there are enough blocks. Into how many depends on the
// bounds of the extents and on nothing else, so that every device adds in the same order.
#include <algorithm>

#include "runtime/device/cuda/kernels/division.h"
#include "runtime/device/cuda/kernels/makers.h"
#include "runtime/device/cuda/kernels/reductions/arguments.h"

namespace cgraph::cuda {
namespace {

constexpr int64_t kBlocks = 1024;      // enough for any device
constexpr int64_t kLeastPacks = 4;     // of a thread, before columns are cut
constexpr int64_t kMostElements = 32;  // of a thread, before a column has more threads
constexpr uint64_t kMostStateBytes = 16;

// Returns into how many parts columns are cut.
int64_t PartsOf(const Division& division, int64_t columns, int64_t along, int64_t pack) {
  const int64_t groups = std::max<int64_t>(division.Groups(columns), 1);
  const int64_t enough = kBlocks / groups + (kBlocks % groups != 0);
  return std::max<int64_t>(std::min(enough, along / (division.height * kLeastPacks * pack)), 1);
}

void Divide(const Division& division, Reduction& reduction) {
  reduction.width = division.width;
  reduction.height = division.height;
  reduction.contiguous = division.contiguous;
}

ExecutableResult MakeReduction(const Making& making, const char* name, int dim) {
  Result<CUfunction> function = making.Find(name, making.in(0).dtype);
  if (!function.ok()) return function.status();
  Layout bounds = {};
  FillLayout(BoundsOf(making.in(0)), BoundsOf(making.out()), dim, bounds);
  const int64_t columns = bounds.columns.count, along = bounds.along.count;
  const bool contiguous = bounds.along.rank > 0 && bounds.along.strides[0] == 1;
  const int64_t pack = kPackBytes / plan::DTypeBytes(making.in(0).dtype);
  const Division division = DivisionOf(columns, along, contiguous, pack, kMostElements);
  const int64_t parts = PartsOf(division, columns, along, pack);
  const Division second = DivisionOf(columns, parts, /*contiguous=*/false, /*pack=*/1, /*most=*/1);
  const auto launch = [launcher = making.launcher, function = *function, dim, columns, parts,
                       division, second](const Call& call) {
    Reduction reduction;
    reduction.x = call.inputs[0];
    reduction.out = call.outputs[0];
    reduction.dim = dim;
    reduction.parts = parts;
    reduction.partials = call.scratch;
    reduction.known = IsKnown(reduction.x) && IsKnown(reduction.out);
    FillLayout(BoundsOf(reduction.x), BoundsOf(reduction.out), dim, reduction.layout);
    Divide(division, reduction);
    const int64_t tiles = division.Groups(columns) * parts;
    const CUresult result =
        launcher.Blocks(call, function, std::min(tiles, launcher.most()), kThreads, reduction);
    if (result != CUDA_SUCCESS || parts == 1) return result;
    Divide(second, reduction);
    reduction.second = true;
    return launcher.Blocks(call, function, second.Groups(columns), kThreads, reduction);
  };
  const uint64_t scratch = parts > 1 ? static_cast<uint64_t>(parts * columns) * kMostStateBytes : 0;
  return ExecutableOf(launch, {.scratch = scratch});
}

ExecutableResult MakeAlong(const Making& making, const char* name) {
  return MakeReduction(making, name, *device::DimAttribute(making.request, "dim", making.in(0)));
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
