// Kernels: the executables of calls and loads of a plan, one per device, kernel of the plan and
// operand types.
#ifndef CGRAPH_RUNTIME_LOAD_KERNELS_H_
#define CGRAPH_RUNTIME_LOAD_KERNELS_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cgraph/engine.h>

#include "runtime/base/kinds/native.h"
#include "runtime/base/status.h"
#include "runtime/device/device.h"
#include "runtime/device/kernel.h"
#include "runtime/load/weights/weights.h"
#include "runtime/native/kernels.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

// Returns the type of a value of a plan as kernels are told it, with dims at their bounds.
device::OperandType OperandTypeOf(const plan::Graph& graph, uint32_t value);

class Kernels {
 public:
  Kernels(const plan::Plan* plan, const std::vector<std::unique_ptr<device::Device>>* devices,
          const EngineOptions& options, const AskFirstRank& ask_first_rank)
      : plan_(plan),
        devices_(devices),
        weights_(options.weights, ask_first_rank),
        native_(options.libraries, options.check_arguments),
        calls_python_(std::any_of(plan->kernels.begin(), plan->kernels.end(), [](const auto& each) {
          return each->library == kPythonLibrary;
        })) {}

  // Returns whether the plan has methods in Python.
  bool CallsPython() const { return calls_python_; }
  // Imports the modules of the methods in Python that the lanes of this process call.
  Status ImportModules(const std::function<bool(uint32_t lane)>& is_here);
  // Returns the executable that a call or load instruction runs.
  Result<device::Executable*> For(const plan::Graph& graph, uint32_t instruction, uint32_t device);
  uint64_t most_scratch() const { return most_scratch_; }
  Weights& weights() { return weights_; }
  const native::Objects& objects() const { return native_.objects; }
  // Ends the objects of native code, where a process ends and not the engine. Nothing runs.
  void EndObjects() { native_.objects.Clear(); }

 private:
  Result<device::Executable*> Keep(Result<std::unique_ptr<device::Executable>> kernel,
                                   const std::string& key);

  // Returns the error with the name and source position of its call before the message.
  Status OfCall(const plan::Graph& graph, const plan::Instruction& at, const Status& status) const;
  // Names the other states whose loads fail as this one does, for want of the file or of its
  // tensor: "; w.safetensors is also loaded by b.state w"; none: empty.
  std::string AlsoLoadedBy(const plan::Graph& graph, const plan::Instruction& load);
  Status ImportModules(const plan::Graph& graph, plan::Range program);
  // `place`: of the call, as "stage[2]"; none: empty.
  Result<std::unique_ptr<device::Executable>> Make(const plan::Instruction& at, uint32_t device,
                                                   const std::string& place,
                                                   std::span<const device::OperandType> types);
  Result<std::unique_ptr<device::Executable>> MakeNative(
      const plan::Kernel& kernel, uint32_t device, const std::string& place,
      std::span<const device::OperandType> inputs, std::span<const device::OperandType> outputs);

  const plan::Plan* plan_;
  const std::vector<std::unique_ptr<device::Device>>* devices_;
  Weights weights_;
  native::Native native_;  // outlives the kernels that call it
  const bool calls_python_;
  std::map<std::string, device::Executable*> made_;  // by kernel, device and operand types
  std::vector<std::unique_ptr<device::Executable>> owned_;
  uint64_t most_scratch_ = 0;
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_KERNELS_H_
