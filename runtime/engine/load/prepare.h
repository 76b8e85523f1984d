// Prepare: from a graph of a plan to the programs that strands run.
//
// Everything that can be decided before the first execution is decided here: what each strand runs
// and in which order, which waits are left, which cells are looked at, which kernel object runs,
// and every address.
#ifndef CGRAPH_RUNTIME_ENGINE_LOAD_PREPARE_H_
#define CGRAPH_RUNTIME_ENGINE_LOAD_PREPARE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/engine/load/arenas.h"
#include "runtime/engine/loaded_graph.h"
#include "runtime/files/safetensors.h"
#include "runtime/plan/placement.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status.h"

namespace cgraph::engine {

// kUnsupported, with a sentence, for what a plan may say and this engine cannot do.
Status CheckSupported(const plan::Plan& plan);

// Kernels, one object per kernel of the plan and operand types.
class Kernels {
 public:
  Kernels(const plan::Plan* plan, const std::vector<std::unique_ptr<device::Device>>* devices,
          std::string weights_dir)
      : plan_(plan), devices_(devices), weights_dir_(std::move(weights_dir)) {}

  // What a call or load instruction runs.
  Result<device::Kernel*> For(const plan::Graph& graph, uint32_t instruction, uint32_t device);
  uint64_t most_scratch() const { return most_scratch_; }

 private:
  Result<device::Kernel*> Keep(Result<std::unique_ptr<device::Kernel>> kernel,
                               const std::string& key);

  Result<std::unique_ptr<device::Kernel>> MakeLoad(const plan::WeightFile& slice,
                                                   const device::OperandType& out);

  const plan::Plan* plan_;
  const std::vector<std::unique_ptr<device::Device>>* devices_;
  std::string weights_dir_;
  std::map<std::string, std::shared_ptr<files::Safetensors>> files_;  // by path
  std::map<std::string, device::Kernel*> made_;  // by kernel, device and operand types
  std::vector<std::unique_ptr<device::Kernel>> owned_;
  uint64_t most_scratch_ = 0;
};

// What a value's operand type is, dims at their bounds.
device::OperandType OperandTypeOf(const plan::Graph& graph, uint32_t value);

struct Preparation {
  const plan::Plan* plan = nullptr;
  const plan::Placement* placement = nullptr;
  const Arenas* arenas = nullptr;
  Kernels* kernels = nullptr;
  std::vector<device::Bell*> bells;  // per strand: its worker's
  bool proved = true;
  bool profile = false;
};

// Fills `graph` (graphs[index]), whose plan, frames, inflight, lag and depth are set.
Status PrepareGraph(const Preparation& preparation, uint32_t index, LoadedGraph& graph);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_LOAD_PREPARE_H_
