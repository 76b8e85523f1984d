// CallersGpus: the GPUs of this process that the program uses, too (device/shared_gpu.h): inputs
// may lie in their memory, and results.
#ifndef CGRAPH_RUNTIME_ENGINE_CALLERS_GPUS_H_
#define CGRAPH_RUNTIME_ENGINE_CALLERS_GPUS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <cgraph/engine.h>

#include "runtime/base/status.h"
#include "runtime/device/shared_gpu.h"
#include "runtime/engine/execution_state.h"
#include "runtime/load/loaded_plan.h"

namespace cgraph::engine {

class CallersGpus {
 public:
  explicit CallersGpus(const LoadedPlan& loaded) : loaded_(loaded) {}

  // Called once devices are open.
  void Find();
  bool any() const { return !gpus_.empty(); }
  // Returns the GPU that the driver has this number; null: it is none of ours.
  device::SharedGpu* Of(uint32_t number) const;
  // Returns the GPU that a result lies in memory of; null: it lies in the host's.
  device::SharedGpu* OfResult(const ExecutionState& execution, size_t i) const;
  // Returns "cuda:0, cuda:1", or where the engine runs instead.
  std::string Text() const;

  // Waits until inputs in memory of GPUs have been made: on this thread. It would go on where a
  // queue waits instead, but then a producer that hangs would hold up executions of others.
  Status AwaitProducers(std::span<const Input> inputs) const;
  // Copies an input from memory of a GPU into its place in a frame, by way of the host.
  Status Fetch(const InputPort& port, const Frame::InputBlock& at, const Input& input,
               uint64_t bytes) const;

 private:
  const LoadedPlan& loaded_;
  std::vector<std::shared_ptr<device::SharedGpu>> gpus_;  // each once
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_CALLERS_GPUS_H_
