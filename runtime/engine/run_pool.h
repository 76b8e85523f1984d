// RunPool: all runs of an engine. It holds them until the engine is released and no caller holds a
// result any more.
#ifndef CGRAPH_RUNTIME_ENGINE_RUN_POOL_H_
#define CGRAPH_RUNTIME_ENGINE_RUN_POOL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/engine/execution_state.h"

namespace cgraph::engine {

class RunPool {
 public:
  // Adds a run and returns it. Add(), TakeReturned() and Close() are under the lock of submission.
  ExecutionState* Add(std::unique_ptr<ExecutionState> run);
  // Returns the list of runs that were returned, and empties it.
  ExecutionState* TakeReturned();
  // Closes the pool: no run is taken any more, and `free` of them are neither held nor returned.
  // Returns whether no caller holds one. The pool can go then, or when Return() says so.
  [[nodiscard]] bool Close(uint64_t free);

  // Takes back a run that nobody holds any more, from any thread. Returns whether it was the last
  // one of a closed pool.
  [[nodiscard]] bool Return(ExecutionState* run);

 private:
  // Added to the number of runs that callers hold until that is known, when the pool is closed.
  static constexpr uint64_t kBias = 1ull << 62;

  std::vector<std::unique_ptr<ExecutionState>> runs_;
  alignas(128) std::atomic<ExecutionState*> returned_{nullptr};
  std::atomic<uint64_t> held_{kBias};
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_RUN_POOL_H_
