// ConvolutionShape: a convolution of images, and which of its parts a kernel computes.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_CONVOLUTION_SHAPE_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_CONVOLUTION_SHAPE_H_

#include <cstdint>

namespace cgraph::device {

// x[images, channels, height, width] and weight[out_channels, channels / groups, kernel] give
// y[images, out_channels, out]. Element (i, j) of the kernel meets for element (p, q) of the result
// that of x at p * stride + i * dilation - padding, and likewise for q, where there is one.
struct ConvolutionShape {
  int64_t images, channels, height, width;
  int64_t out_channels;
  int64_t kernel[2], out[2];
  int64_t stride[2], padding[2], dilation[2];
  int64_t groups;
};

enum class ConvolutionPart {
  kForward,         // y of x and weight
  kInputGradient,   // the gradient of x, of weight and gy
  kWeightGradient,  // the gradient of weight, of x and gy
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_CONVOLUTION_SHAPE_H_
