// Kernels: the executables of calls and loads of a plan, one per device, kernel of the plan and
// operand types.
#ifndef CGRAPH_RUNTIME_ENGINE_LOAD_KERNELS_H_
#define CGRAPH_RUNTIME_ENGINE_LOAD_KERNELS_H_

#include <cstdint>
#include <atomic>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/files/safetensors.h"
#include "runtime/native/kernels.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status.h"

namespace cgraph::engine {

class Kernels {
 public:
  Kernels(const plan::Plan* plan, const std::vector<std::unique_ptr<device::Device>>* devices,
          std::string weights_dir, std::vector<std::string> libraries)
      : plan_(plan),
        devices_(devices),
        weights_dir_(std::move(weights_dir)),
        native_(std::move(libraries)) {}

  // Returns the executable that a call or load instruction runs.
  Result<device::Executable*> For(const plan::Graph& graph, uint32_t instruction, uint32_t device);
  uint64_t most_scratch() const { return most_scratch_; }
  // Returns whether a kernel has failed because a weight file could not be read.
  bool unreadable() const { return unreadable_; }

 private:
  Result<device::Executable*> Keep(Result<std::unique_ptr<device::Executable>> kernel,
                                   const std::string& key);

  Result<std::unique_ptr<device::Executable>> Make(const plan::Instruction& at, uint32_t device,
                                                   std::span<const device::OperandType> types);
  Result<std::unique_ptr<device::Executable>> MakeNative(
      const plan::Kernel& kernel, uint32_t device, std::span<const device::OperandType> inputs,
      std::span<const device::OperandType> outputs);
  Result<std::unique_ptr<device::Executable>> MakeLoad(const plan::WeightFile& slice,
                                                       uint32_t device,
                                                       const device::OperandType& out);

  const plan::Plan* plan_;
  const std::vector<std::unique_ptr<device::Device>>* devices_;
  std::string weights_dir_;
  native::Native native_;  // outlives the kernels that call it
  std::map<std::string, std::shared_ptr<files::Safetensors>> files_;  // by path
  std::map<std::string, device::Executable*> made_;  // by kernel, device and operand types
  std::vector<std::unique_ptr<device::Executable>> owned_;
  uint64_t most_scratch_ = 0;
  std::atomic<bool> unreadable_ = false;
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_LOAD_KERNELS_H_
