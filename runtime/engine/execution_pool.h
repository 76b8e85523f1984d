// ExecutionPool: the ExecutionStates of an engine. It makes a few at load, and more only while
// callers hold more results than ever before. It holds them until the engine is released and no
// caller holds a result any more.
#ifndef CGRAPH_RUNTIME_ENGINE_EXECUTION_POOL_H_
#define CGRAPH_RUNTIME_ENGINE_EXECUTION_POOL_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/engine/execution_state.h"
#include "runtime/execute/workers.h"
#include "runtime/load/loaded_plan.h"

namespace cgraph::engine {

class ExecutionPool final : public ExecutionState::Pool {
 public:
  // `last`: called, on whatever thread, when the last one of a closed pool has come back.
  ExecutionPool(const LoadedPlan& loaded, const Workers& workers, Parts& engine,
                DeviceFailures& device_failures, std::function<void()> last)
      : loaded_(loaded),
        workers_(workers),
        engine_(engine),
        device_failures_(device_failures),
        last_(std::move(last)) {}

  // The following functions are under the lock of submission.

  // Makes so many for a graph. kInvalid where there is no memory for their results.
  Status Reserve(uint32_t graph, uint64_t executions);
  // Takes one that no caller holds, and makes one where there is none.
  Result<ExecutionState*> Take(uint32_t graph);
  // The same where the first free one is as good as new, which is the usual case; else null.
  ExecutionState* TakeFree(uint32_t graph) {
    ExecutionState* execution = free_[graph];
    const bool new_enough = execution != nullptr && execution->fences.empty() &&
                            !execution->failed.load(std::memory_order_relaxed);
    if (!new_enough) return nullptr;
    free_[graph] = execution->next;
    return execution;
  }
  // Takes one back at once.
  void Put(ExecutionState* execution) {
    execution->next = free_[execution->graph];
    free_[execution->graph] = execution;
  }
  // Returns how many Take() has made.
  uint64_t made() const { return made_.load(std::memory_order_relaxed); }
  // Closes the pool: none is taken any more. Returns whether no caller holds one: then the pool
  // can go; otherwise it can when `last` is called.
  [[nodiscard]] bool Close();

  // Takes back one that no caller holds any more, from any thread.
  void Return(ExecutionState* execution) override;

 private:
  // Added to the number of those that callers hold until that is known, when the pool is closed.
  static constexpr uint64_t kBias = 1ull << 62;

  Result<ExecutionState*> Make(uint32_t graph);

  const LoadedPlan& loaded_;
  const Workers& workers_;
  Parts& engine_;
  DeviceFailures& device_failures_;
  const std::function<void()> last_;
  std::vector<std::unique_ptr<ExecutionState>> all_;
  std::vector<ExecutionState*> free_;  // by graph: a list
  std::atomic<uint64_t> made_{0};
  alignas(128) std::atomic<ExecutionState*> returned_{nullptr};
  std::atomic<uint64_t> held_{kBias};
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_EXECUTION_POOL_H_
