// Kernels of a CUDA device, as they are prepared at load.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_EXECUTABLE_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_EXECUTABLE_H_

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "runtime/base/status.h"
#include "runtime/device/cuda/driver/driver.h"
#include "runtime/device/cuda/kernels/abi.h"
#include "runtime/device/kernel.h"
#include "runtime/device/tensor.h"
#include "runtime/plan/plan.h"

namespace cgraph::cuda {

// Of work memory, and of each part that a kernel divides it into.
inline constexpr uint64_t kScratchAlignment = 256;
constexpr uint64_t AlignScratch(uint64_t bytes) {
  return (bytes + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
}

// Call: one launch of an executable. `scratch` has as many bytes as the executable asks for,
// aligned to kScratchAlignment; what lies there is gone after the call.
struct Call {
  CUstream stream = nullptr;
  Guard guard;
  std::span<const View> inputs;
  std::span<const View> outputs;
  void* scratch = nullptr;
};

class CudaExecutable : public device::Executable {
 public:
  // Appends the call to its stream: never blocks, allocates or waits. Returns the driver's error.
  virtual CUresult Launch(const Call& call) = 0;
  virtual uint64_t scratch() const { return 0; }
  // Returns what the CPU kernel says of the same failure.
  virtual std::string ErrorText(const Failure&) const { return {}; }
};

// KernelModule: the device code of this library, loaded into one context.
class KernelModule {
 public:
  virtual ~KernelModule() = default;
  // kUnsupported when the module has no such kernel.
  virtual Result<CUfunction> Find(const std::string& name) const = 0;
};

class ProductLibrary;  // runtime/device/cuda/libraries/cublaslt.h

// Libraries: what kernels of one context are made with besides this library's device code. Each is
// opened when it is first asked for. Null: it is not there.
class Libraries {
 public:
  virtual ~Libraries() = default;
  virtual const ProductLibrary* products() = 0;
  // Compiles device code in CUDA C++, which includes headers of kernels/, and returns its kernel
  // `name`. kNotFound where nothing can compile it, kUnsupported where what could is old or broken,
  // kFailed with what the compiler says.
  virtual Result<CUfunction> Compile(const std::string& source, const std::string& name) = 0;
};

// Target: the device that kernels are made for. Outlives them.
struct Target {
  const Driver* driver = nullptr;
  const KernelModule* module = nullptr;
  int multiprocessors = 0;
  Libraries* libraries = nullptr;  // null: our own kernels do all
};

// Makes the executable of a kernel for operands of these types. The errors, and the rules on the
// operands, are those of MakeCpuKernel (runtime/device/kernel.h).
Result<std::unique_ptr<CudaExecutable>> MakeCudaKernel(
    const Target& target, const plan::Kernel& kernel,
    std::span<const device::OperandType> inputs, std::span<const device::OperandType> outputs);

// Launches a kernel with these arguments, which are copied by the driver.
template <typename... Args>
CUresult LaunchGrid(const Driver& driver, CUstream stream, CUfunction function, uint32_t blocks,
                    uint32_t threads, const Args&... args) {
  void* parameters[] = {const_cast<void*>(static_cast<const void*>(&args))...};
  return driver.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, parameters,
                               nullptr);
}

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_EXECUTABLE_H_
