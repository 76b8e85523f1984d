// Executables, and kernels of the host: the code that a `call` instruction runs on the CPU.
//
// A plan names a kernel and its attributes; MakeCpuKernel gives an object that was prepared once,
// at load, for its operands' types. Run() is called in the steady state: it makes no allocation of
// its own, takes no lock, and touches only its operands and its scratch.
#ifndef CGRAPH_RUNTIME_DEVICE_KERNEL_H_
#define CGRAPH_RUNTIME_DEVICE_KERNEL_H_

#include <memory>
#include <span>
#include <string>

#include "runtime/base/status.h"
#include "runtime/device/tensor.h"
#include "runtime/plan/plan.h"

namespace cgraph::device {

// Executable: a kernel or an upload as a device prepared it at load, to be launched on its queues.
// Those of the CPU are Kernels.
class Executable {
 public:
  virtual ~Executable() = default;
};

class Kernel : public Executable {
 public:
  // Runs the kernel on its inputs and outputs, in the order of the plan's operands. Returns true
  // when done; false, with `error` filled, when the call has failed (only kernels that the plan
  // marks `fails` may do so). `scratch` has as many bytes as the plan's kernel states, aligned to
  // 64.
  virtual bool Run(std::span<const Tensor> inputs, std::span<const Tensor> outputs, void* scratch,
                   std::string& error) = 0;
};

// Makes a kernel. Returns kUnsupported with a sentence that names kernel and dtypes when there is
// none for these operands; kNotFound when a library that it needs cannot be loaded. `kernel` and
// the operand types come from an untrusted plan that passed CheckPlan: the kernel's own rules on
// ranks, dims and attributes are checked here, and violations are refused with kInvalid.
Result<std::unique_ptr<Kernel>> MakeCpuKernel(const plan::Kernel& kernel,
                                              std::span<const OperandType> inputs,
                                              std::span<const OperandType> outputs);

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_KERNEL_H_
