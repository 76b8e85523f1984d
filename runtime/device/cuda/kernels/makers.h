// The makers that kernels.def names, for CUDA devices: each is in the file of its kind. The
// operands and attributes that they are given suit the CPU's kernel. Behind them stands what
// several makers launch beside kernels of their own.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_MAKERS_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_MAKERS_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "runtime/device/cpu/kernels/operands.h"
#include "runtime/device/cuda/kernels/executable.h"
#include "runtime/device/cuda/kernels/launch.h"

namespace cgraph::cuda {

using ExecutableResult = Result<std::unique_ptr<CudaExecutable>>;
using plan::DType;

// Making: a kernel to be made.
struct Making {
  const Target& target;
  const Launcher& launcher;
  const device::Request& request;

  const device::OperandType& in(size_t i) const { return request.inputs[i]; }
  const device::OperandType& out(size_t i = 0) const { return request.outputs[i]; }
  Result<CUfunction> Find(const std::string& name) const { return target.module->Find(name); }
  // Finds the kernel of a dtype: "Add_f32". Bools are bytes.
  Result<CUfunction> Find(const std::string& name, DType dtype) const;
  // Finds the kernel that moves elements of so many bytes: "Permute_u16".
  Result<CUfunction> FindByWidth(const std::string& name, DType dtype) const;
};

// The name of a dtype in the names of kernels: bools are bytes.
std::string_view ElementName(DType dtype);

// Returns the dims at their bounds.
Dims BoundsOf(const device::OperandType& type);

// `operation` is a name of elementwise_ops.h.
ExecutableResult MakeOperation(const Making& making, const char* operation);
ExecutableResult MakeSelection(const Making& making, const char* operation);
#define KERNEL(name, maker) ExecutableResult maker(const Making& making);
#include "runtime/device/cpu/kernels/kernels.def"

// Makes the launches of a kernel of ELEMENTWISE_KERNEL (elementwise/elements.h) with so many
// operands, at least one.
inline constexpr size_t kMostLoopOperands = 12;  // so that arguments take less than 4 KiB
std::unique_ptr<CudaExecutable> MakeElementwise(const Launcher& launcher, CUfunction function,
                                                size_t operands);

// Makes a kernel of several primitives: one CUDA kernel, compiled now, or one for each primitive.
ExecutableResult MakeFused(const Target& target, const Launcher& launcher,
                           const plan::Kernel& kernel,
                           std::span<const device::OperandType> inputs,
                           std::span<const device::OperandType> outputs);
// Makes the kernel that a primitive has by itself, for operands that suit it.
ExecutableResult MakePrimitive(const Target& target, const Launcher& launcher,
                               const plan::Primitive& primitive,
                               std::span<const device::OperandType> inputs,
                               std::span<const device::OperandType> outputs);

// CopyKernel: copies a tensor with so many bytes an element as it lies in memory (move/copy.cpp).
class CopyKernel {
 public:
  static Result<CopyKernel> Make(const Making& making, DType dtype);
  // Nothing is moved where the tensor lies there already.
  CUresult operator()(const Call& call, const View& from, void* to) const;

 private:
  CopyKernel(const Launcher& launcher, CUfunction function, int64_t width)
      : launcher_(launcher), function_(function), width_(width) {}

  Launcher launcher_;
  CUfunction function_;
  int64_t width_;  // bytes
};

// Makes a kernel that fails where a length that attention is given is not in least .. most
// (attention/attention.cpp).
ExecutableResult MakeLookAtLengths(const Making& making, int64_t least, int64_t most);

// OutsideCheck: fails a call where an index lies outside of a dimension (indices/outside.cpp).
class OutsideCheck {
 public:
  static Result<OutsideCheck> Make(const Making& making);
  // Fails the call where one of `indices`, i64, is not in 0 .. limit - 1. The failure's numbers are
  // the position of the first such index, the index, and the limit.
  CUresult operator()(const Call& call, const View& indices, const Extent& limit) const;

 private:
  OutsideCheck(const Launcher& launcher, CUfunction function)
      : launcher_(launcher), function_(function) {}

  Launcher launcher_;
  CUfunction function_;
};

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_MAKERS_H_
