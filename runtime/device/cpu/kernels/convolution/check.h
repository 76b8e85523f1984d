// What a convolution asks of its operands, on every device.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_CONVOLUTION_CHECK_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_CONVOLUTION_CHECK_H_

#include <optional>
#include <string_view>

#include "runtime/device/cpu/kernels/convolution/shape.h"
#include "runtime/device/cpu/kernels/operands.h"

namespace cgraph::device {

// Returns which part a kernel computes; nothing of one that is no convolution.
std::optional<ConvolutionPart> ConvolutionPartOf(std::string_view kernel);

// Returns the shape, with the bound of the images, which alone may be dynamic.
Result<ConvolutionShape> ConvolutionOf(const Request& request, ConvolutionPart part);

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_CONVOLUTION_CHECK_H_
