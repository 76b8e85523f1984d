// conv2d and its gradients: a grid, and another where the terms of long sums were cut into parts.
#include <algorithm>

#include "runtime/device/cpu/kernels/makers.h"
#include "runtime/device/cuda/kernels/convolution/arguments.h"
#include "runtime/device/cuda/kernels/makers.h"

namespace cgraph::cuda {
namespace {

constexpr int64_t kEnoughBlocks = 512;
constexpr int64_t kLeastLength = 512;  // terms of a part
constexpr uint64_t kPartialBytes = 8;

const char* NameOf(ConvolutionPart part) {
  switch (part) {
    case ConvolutionPart::kForward:
      return "Convolve";
    case ConvolutionPart::kInputGradient:
      return "ConvolveInputGrad";
    case ConvolutionPart::kWeightGradient:
      break;
  }
  return "ConvolveWeightGrad";
}

ExecutableResult MakeConvolution(const Making& making, ConvolutionPart part) {
  Result<CUfunction> function = making.Find(NameOf(part), making.out().dtype);
  if (!function.ok()) return function.status();
  Result<CUfunction> join = making.Find("JoinConvolution", making.out().dtype);
  if (!join.ok()) return join.status();
  Convolution convolution;
  convolution.shape = *device::ConvolutionOf(making.request, part);
  const ConvolutionShape& shape = convolution.shape;
  const ConvolutionProduct bounds = ProductOf(shape, shape.images, part);
  const int64_t tiles = std::max<int64_t>(shape.groups * bounds.tiles(), 1);
  // Into how many parts depends on bounds alone, so that every device adds in the same order.
  if (part == ConvolutionPart::kWeightGradient) {
    convolution.parts =
        std::max<int64_t>(std::min(kEnoughBlocks / tiles, bounds.k / kLeastLength), 1);
  }
  convolution.length = (bounds.k + convolution.parts - 1) / convolution.parts;
  const int64_t results = shape.groups * bounds.m * bounds.n;
  const auto launch = [launcher = making.launcher, function = *function, join = *join, part,
                       convolution, blocks = shape.groups * bounds.tiles() * convolution.parts,
                       results](const Call& call) {
    Convolution arguments = convolution;
    const View& batch = call.inputs[part == ConvolutionPart::kInputGradient ? 1 : 0];
    arguments.images = batch.dims[0];
    arguments.a = call.inputs[0].data;
    arguments.b = call.inputs[1].data;
    arguments.out = call.outputs[0].data;
    arguments.partials = call.scratch;
    const CUresult result = launcher.Blocks(call, function, blocks, kThreads, arguments);
    if (result != CUDA_SUCCESS || convolution.parts == 1) return result;
    return launcher.Items(call, join, results, arguments, results);
  };
  const auto partials = static_cast<uint64_t>(convolution.parts * results);
  return ExecutableOf(
      launch, {.scratch = convolution.parts > 1 ? partials * kPartialBytes : 0, .error_text = {}});
}

}  // namespace

ExecutableResult MakeConv2d(const Making& making) {
  return MakeConvolution(making, ConvolutionPart::kForward);
}
ExecutableResult MakeConv2dInputGrad(const Making& making) {
  return MakeConvolution(making, ConvolutionPart::kInputGradient);
}
ExecutableResult MakeConv2dWeightGrad(const Making& making) {
  return MakeConvolution(making, ConvolutionPart::kWeightGradient);
}

}  // namespace cgraph::cuda
