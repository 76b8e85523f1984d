// conv2d and its gradients: by oneDNN where it has them, else by products of OpenBLAS (products.h).
#include <fmt/format.h>

#include "runtime/device/cpu/kernels/convolution/products.h"
#include "runtime/device/cpu/kernels/convolution/shape.h"
#include "runtime/device/cpu/kernels/makers.h"
#include "runtime/device/cpu/libraries/onednn.h"

namespace cgraph::device {
namespace {

// x, weight and y of a part: operands and the result in the order of the part.
struct ConvolutionTypes {
  const OperandType &x, &weight, &y;
};
ConvolutionTypes TypesOf(const Request& request, ConvolutionPart part) {
  const OperandType &a = request.inputs[0], &b = request.inputs[1], &out = request.outputs[0];
  switch (part) {
    case ConvolutionPart::kForward:
      return {a, b, out};
    case ConvolutionPart::kInputGradient:
      return {out, a, b};
    case ConvolutionPart::kWeightGradient:
      break;
  }
  return {a, out, b};
}

// Reads two numbers, of height and width.
Status ReadPair(const Request& request, const std::string& name, int64_t least,
                int64_t (&pair)[2]) {
  constexpr int64_t kMost = int64_t{1} << 20;  // sums and products of such are far from 2^63
  Result<std::vector<int64_t>> numbers = IntsAttribute(request, name);
  if (!numbers.ok()) return numbers.status();
  if (numbers->size() != 2) return Invalid(request, fmt::format("`{}` is two numbers", name));
  for (size_t i = 0; i < 2; ++i) {
    pair[i] = (*numbers)[i];
    if (pair[i] >= least && pair[i] <= kMost) continue;
    return Invalid(request,
                   fmt::format("`{}` has {}, and may have {} to {}", name, pair[i], least, kMost));
  }
  return Status::Ok();
}

Status CheckStatic(const Request& request, const OperandType& type, int first) {
  constexpr int64_t kMost = int64_t{1} << 31;
  bool fits = type.rank == 4;
  for (int i = first; fits && i < 4; ++i) fits = !type.dynamic[i] && type.dims[i] < kMost;
  if (fits) return Status::Ok();
  return Invalid(request,
                 fmt::format("expected a tensor of 4 dimensions, of which dimensions {} to 3 are "
                             "static and below 2^31, got {}",
                             first, TypeText(type)));
}

// Runs a convolution of all images at once, or of one after another.
class DnnlKernel final : public Kernel {
 public:
  DnnlKernel(DnnlConvolution convolution, ConvolutionPart part, bool one_by_one)
      : convolution_(std::move(convolution)), part_(part), one_by_one_(one_by_one) {}
  bool Run(std::span<const Tensor> inputs, std::span<const Tensor> outputs, void*,
           std::string& error) override {
    const bool forward = part_ == ConvolutionPart::kForward;
    const int64_t images = one_by_one_ ? outputs[0].dims[0] : 1;
    for (int64_t i = 0; i < images; ++i) {
      const void* a = forward ? ImageOf(inputs[0], i) : inputs[0].data;
      const void* b = forward ? inputs[1].data : ImageOf(inputs[1], i);
      if (convolution_(a, b, ImageOf(outputs[0], i))) continue;
      error = "oneDNN reports an error in a convolution";
      return false;
    }
    return true;
  }

 private:
  static void* ImageOf(const Tensor& tensor, int64_t i) {
    if (i == 0) return tensor.data;
    const int64_t bytes = static_cast<int64_t>(tensor.bytes()) / tensor.dims[0];
    return static_cast<char*>(tensor.data) + i * bytes;
  }

  DnnlConvolution convolution_;
  ConvolutionPart part_;
  bool one_by_one_;
};

// Returns whether oneDNN is faster than products of OpenBLAS: where there is enough work, and
// channels to put side by side, sixteen at a time. A kernel of one element needs no such layout.
bool GainsFromDnnl(const ConvolutionShape& s, ConvolutionPart part) {
  constexpr double kLeastWork = 1 << 15;
  constexpr int64_t kLeastChannels = 16;
  const int64_t inputs = s.channels / s.groups, results = s.out_channels / s.groups;
  double work = static_cast<double>(s.images) * static_cast<double>(s.out_channels * inputs);
  for (int i = 0; i < 2; ++i) {
    work *= static_cast<double>(s.out[i]) * static_cast<double>(s.kernel[i]);
  }
  if (work < kLeastWork) return false;
  const int64_t made = part == ConvolutionPart::kInputGradient ? inputs : results;
  const bool one_each = inputs == 1 && results == 1 && s.groups >= kLeastChannels;
  return made >= kLeastChannels || one_each || s.kernel[0] * s.kernel[1] == 1;
}

KernelResult MakeConvolution(const Request& request, ConvolutionPart part) {
  Result<ConvolutionShape> shape = ConvolutionOf(request, part);
  if (!shape.ok()) return shape.status();
  const DType dtype = request.outputs[0].dtype;
  // oneDNN wants to know how many images there are. The gradient of weight is a sum over them all.
  const bool dynamic = TypesOf(request, part).x.dynamic[0];
  ConvolutionShape known = *shape;
  if (dynamic) known.images = 1;
  if (GainsFromDnnl(known, part) && !(dynamic && part == ConvolutionPart::kWeightGradient)) {
    if (auto convolution = MakeDnnlConvolution(known, part, dtype)) {
      return KernelResult(std::make_unique<DnnlKernel>(std::move(convolution), part, dynamic));
    }
  }
  Result<const Blas*> blas = LoadBlas();
  if (!blas.ok()) return blas.status();
  (*blas)->WarmUp();
  std::unique_ptr<Kernel> kernel;
  WithType(dtype, [&](auto zero) {
    using T = decltype(zero);
    const HalfLoops half = HalfLoopsOf(dtype);
    if constexpr (std::is_same_v<T, double>) {
      kernel = std::make_unique<ProductConvolution<T>>(*shape, part, (*blas)->dgemm, half);
    } else if constexpr (kIsFloat<T>) {
      kernel = std::make_unique<ProductConvolution<T>>(*shape, part, (*blas)->sgemm, half);
    }
  });
  return kernel;
}

}  // namespace

Result<ConvolutionShape> ConvolutionOf(const Request& request, ConvolutionPart part) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 2, 1));
  CGRAPH_RETURN_IF_ERROR(ExpectOneDType(request));
  if (!Contains(DTypes::kFloat, request.outputs[0].dtype)) return NoKernel(request);
  const ConvolutionTypes types = TypesOf(request, part);
  CGRAPH_RETURN_IF_ERROR(CheckStatic(request, types.x, 1));
  CGRAPH_RETURN_IF_ERROR(CheckStatic(request, types.y, 1));
  CGRAPH_RETURN_IF_ERROR(CheckStatic(request, types.weight, 0));
  ConvolutionShape s = {};
  CGRAPH_RETURN_IF_ERROR(ReadPair(request, "stride", 1, s.stride));
  CGRAPH_RETURN_IF_ERROR(ReadPair(request, "padding", 0, s.padding));
  CGRAPH_RETURN_IF_ERROR(ReadPair(request, "dilation", 1, s.dilation));
  Result<int64_t> groups = IntAttribute(request, "groups");
  if (!groups.ok()) return groups.status();
  s.groups = *groups;
  s.images = types.x.dims[0];
  s.channels = types.x.dims[1];
  s.height = types.x.dims[2];
  s.width = types.x.dims[3];
  s.out_channels = types.weight.dims[0];
  const bool divides = s.groups > 0 && s.groups <= std::max<int64_t>(s.channels, 1) &&
                       s.channels == types.weight.dims[1] * s.groups &&
                       s.out_channels % s.groups == 0;
  bool fits = divides && SameDim(types.x, 0, types.y, 0) && types.y.dims[1] == s.out_channels;
  for (int i = 0; fits && i < 2; ++i) {
    s.kernel[i] = types.weight.dims[2 + i];
    s.out[i] = types.y.dims[2 + i];
    const int64_t room =
        types.x.dims[2 + i] + 2 * s.padding[i] - s.dilation[i] * (s.kernel[i] - 1) - 1;
    fits = s.kernel[i] > 0 && room >= 0 && s.out[i] == room / s.stride[i] + 1;
  }
  if (!fits) {
    return Invalid(request,
                   fmt::format("a convolution of {} with {} does not give {}", TypeText(types.x),
                               TypeText(types.weight), TypeText(types.y)));
  }
  // Libraries count the elements of a channel, and those that meet one of them, in an int.
  constexpr double kMostOfInt = 0x7fffffff, kMostOfImage = 0x1p40;
  const auto product = [](auto... factors) { return (1.0 * ... * static_cast<double>(factors)); };
  const double patch = product(types.weight.dims[1], s.kernel[0], s.kernel[1]);
  if (product(s.out[0], s.out[1]) > kMostOfInt || patch > kMostOfInt ||
      product(s.channels, s.height, s.width) > kMostOfImage ||
      product(s.out_channels, s.out[0], s.out[1]) > kMostOfImage ||
      product(s.out_channels, patch) > kMostOfImage) {
    return Invalid(request, fmt::format("a convolution of {} with {} has too many elements",
                                        TypeText(types.x), TypeText(types.weight)));
  }
  return s;
}

std::optional<ConvolutionPart> ConvolutionPartOf(std::string_view kernel) {
  if (kernel == "conv2d") return ConvolutionPart::kForward;
  if (kernel == "conv2d_input_grad") return ConvolutionPart::kInputGradient;
  if (kernel == "conv2d_weight_grad") return ConvolutionPart::kWeightGradient;
  return std::nullopt;
}

KernelResult MakeConv2d(const Request& request) {
  return MakeConvolution(request, ConvolutionPart::kForward);
}
KernelResult MakeConv2dInputGrad(const Request& request) {
  return MakeConvolution(request, ConvolutionPart::kInputGradient);
}
KernelResult MakeConv2dWeightGrad(const Request& request) {
  return MakeConvolution(request, ConvolutionPart::kWeightGradient);
}

}  // namespace cgraph::device
