// The makers that kernels.def names, each in the file of its kind.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_MAKERS_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_MAKERS_H_

#include <optional>
#include <span>
#include <string_view>

#include "runtime/device/cpu/kernels/convolution/shape.h"
#include "runtime/device/cpu/kernels/operands.h"

namespace cgraph::device {

// The classes of dtypes in kernels.def: which dtypes a kernel computes with.
enum class DTypes { kAny, kNumber, kFloat, kBool };
constexpr bool Contains(DTypes dtypes, DType dtype) {
  switch (dtypes) {
    case DTypes::kAny: return true;
    case DTypes::kNumber: return dtype != DType::bool_;
    case DTypes::kFloat: return plan::IsFloat(dtype);
    case DTypes::kBool: return dtype == DType::bool_;
  }
  return false;
}

KernelResult MakeBinary(const Request& request);   // elementwise.cpp
KernelResult MakeCompare(const Request& request);
KernelResult MakeUnary(const Request& request);
KernelResult MakeSelect(const Request& request);
KernelResult MakeTernary(const Request& request);
KernelResult MakeFused(const plan::Kernel& kernel, const Request& request);  // fused.cpp
#define KERNEL(name, maker) KernelResult maker(const Request& request);
#include "runtime/device/cpu/kernels/kernels.def"

// Returns which part of a convolution a kernel computes; nothing of one that is no convolution.
std::optional<ConvolutionPart> ConvolutionPartOf(std::string_view kernel);  // convolution.cpp
// Returns the shape, with the bound of the images, which alone may be dynamic.
Result<ConvolutionShape> ConvolutionOf(const Request& request, ConvolutionPart part);

// Check what products ask of their operands and attributes, without the library that computes them.
Status CheckMatmul(const Request& request);        // matmul.cpp
Status CheckPackedMatmul(const Request& request);  // packed_matmul.cpp

// Returns what MakeCpuKernel() says against a kernel, without opening a library for it
// (make_cpu_kernel.cpp): the rules of a kernel are the same on every device.
Status CheckKernel(const plan::Kernel& kernel, std::span<const OperandType> inputs,
                   std::span<const OperandType> outputs);
// Makes the kernel that `primitive` has by itself, for these operands (make_cpu_kernel.cpp).
KernelResult MakePrimitive(const plan::Primitive& primitive, std::span<const OperandType> inputs,
                           std::span<const OperandType> outputs);
// Returns whether element i of the result is made of the operands' elements i alone.
bool IsElementwise(std::string_view kernel);

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_MAKERS_H_
