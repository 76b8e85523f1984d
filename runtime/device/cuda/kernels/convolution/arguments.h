// What kernels of convolutions take.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_CONVOLUTION_ARGUMENTS_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_CONVOLUTION_ARGUMENTS_H_

#include "runtime/device/cpu/kernels/convolution/shape.h"
#include "runtime/device/cuda/kernels/abi.h"

namespace cgraph::cuda {

using device::ConvolutionPart;
using device::ConvolutionShape;

inline constexpr int kConvolutionTile = 64;  // edge of the part of a product that a block makes

// A part of a convolution as matrix products, one for each group: [m, k] times [k, n].
struct Convolution {
  ConvolutionShape shape;  // with as many images as there may be
  Extent images;
  const void* a = nullptr;  // the operands, as ConvolutionPart names them
  const void* b = nullptr;
  void* out = nullptr;
  // The terms of a sum are cut into parts of `length`, whose sums go to `partials`, [parts, the
  // result], and are added up by another grid.
  int64_t parts = 1, length = 0;
  void* partials = nullptr;
};
static_assert(kDense<Convolution>);

struct ConvolutionProduct {
  int64_t m, n, k;
  constexpr int64_t tiles() const {
    return (m + kConvolutionTile - 1) / kConvolutionTile *
           ((n + kConvolutionTile - 1) / kConvolutionTile);
  }
};
constexpr ConvolutionProduct ProductOf(const ConvolutionShape& s, int64_t images,
                                       ConvolutionPart part) {
  const int64_t inputs = s.channels / s.groups, results = s.out_channels / s.groups;
  const int64_t kernel = s.kernel[0] * s.kernel[1], plane = s.out[0] * s.out[1];
  switch (part) {
    case ConvolutionPart::kForward:
      return {results, images * plane, inputs * kernel};
    case ConvolutionPart::kInputGradient:
      return {inputs, images * s.height * s.width, results * kernel};
    case ConvolutionPart::kWeightGradient:
      break;
  }
  return {results, inputs * kernel, images * plane};
}

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_CONVOLUTION_ARGUMENTS_H_
