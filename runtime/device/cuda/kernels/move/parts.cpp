// stack, concat and split: parts of a tensor along a dimension, some with each launch.
#include "runtime/device/cuda/kernels/makers.h"
#include "runtime/device/cuda/kernels/move/arguments.h"

namespace cgraph::cuda {
namespace {

// `extents` are those of the parts along `dim`, which are known when the kernel is made.
ExecutableResult MakeMove(const Making& making, int dim, std::vector<int64_t> extents,
                          bool into_parts) {
  Result<CUfunction> function = making.Find("MoveParts");
  if (!function.ok()) return function.status();
  Parts parts;
  parts.dim = dim;
  parts.into_parts = into_parts;
  parts.width = static_cast<int32_t>(
      plan::DTypeBytes(into_parts ? making.in(0).dtype : making.out().dtype));
  return ExecutableOf([launcher = making.launcher, function = *function,
                       extents = std::move(extents), parts](const Call& call) {
    Parts arguments = parts;
    arguments.whole = parts.into_parts ? call.inputs[0] : call.outputs[0];
    const std::span<const View> views = parts.into_parts ? call.outputs : call.inputs;
    const int64_t words = BoundOfElements(arguments.whole) * parts.width / 16 + 1;
    int64_t first = 0;
    for (size_t i = 0; i < views.size();) {
      arguments.count = 0;
      for (; i < views.size() && arguments.count < kPartsTogether; ++i) {
        arguments.part[arguments.count++] = {views[i].data, first, extents[i]};
        first += extents[i];
      }
      const CUresult result = launcher.Items(call, function, words, arguments);
      if (result != CUDA_SUCCESS) return result;
    }
    return views.empty() ? launcher.PassPoison(call) : CUDA_SUCCESS;
  });
}

std::vector<int64_t> ExtentsOf(std::span<const device::OperandType> parts, int dim) {
  std::vector<int64_t> extents;
  for (const device::OperandType& part : parts) extents.push_back(part.dims[dim]);
  return extents;
}

}  // namespace

ExecutableResult MakeStack(const Making& making) {
  return MakeMove(making, 0, std::vector<int64_t>(making.request.inputs.size(), 1), false);
}

ExecutableResult MakeConcat(const Making& making) {
  const int dim = *device::DimAttribute(making.request, "dim", making.out());
  return MakeMove(making, dim, ExtentsOf(making.request.inputs, dim), false);
}

ExecutableResult MakeSplit(const Making& making) {
  const int dim = *device::DimAttribute(making.request, "dim", making.in(0));
  return MakeMove(making, dim, ExtentsOf(making.request.outputs, dim), true);
}

}  // namespace cgraph::cuda
