// ExecutionState: one submitted execution, from Execute until the last holder of its results drops
// it.
//
// It owns the block that its outputs are written into, so a result stays valid for as long as it is
// held, whatever the engine does meanwhile. These objects are used again: the engine makes a few at
// load, and more only while callers hold more results than ever before.
#ifndef CGRAPH_RUNTIME_ENGINE_EXECUTION_STATE_H_
#define CGRAPH_RUNTIME_ENGINE_EXECUTION_STATE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/base/sync/mutex.h"
#include "runtime/base/wait_point.h"
#include "runtime/device/shared_gpu.h"
#include "runtime/load/failure_slot.h"
#include "runtime/load/step.h"

namespace cgraph::engine {

struct Parts;
class DeviceFailures;

struct ExecutionState final : FramedExecution {
  // Pool: takes one back that no caller holds any more (execution_pool.h).
  class Pool {
   public:
    virtual void Return(ExecutionState* execution) = 0;

   protected:
    ~Pool() = default;
  };

  ~ExecutionState() { AwaitUnused(); }

  Parts* engine = nullptr;
  DeviceFailures* device_failures = nullptr;  // of the engine
  Pool* pool = nullptr;
  uint32_t graph = 0;
  bool lags = false;                    // its last rounds may have to be submitted for it
  bool empty = false;                   // no caller submitted it
  bool lent = false;                    // some input is: not over while it is read
  std::atomic<uint32_t> refs{0};        // the engine's while it is in progress, and the callers'
  // One target per work queue that has work in the graph: the execution is done when each has
  // finished that many entries.
  struct Target {
    const std::atomic<uint64_t>* finished = nullptr;
    std::atomic<uint64_t> until{0};
    uint32_t first_failure = 0;  // as LoadedGraph::first_failures
    bool Finished() const {
      return finished->load(std::memory_order_acquire) >= until.load(std::memory_order_relaxed);
    }
  };
  std::unique_ptr<Target[]> targets;
  uint32_t target_count = 0;

  std::atomic<bool> failed{false};
  FailureSlots remote_failures;         // of its frame: what other ranks report
  Mutex mutex;                  // of the three below
  bool collected = false;               // the failures of other ranks, all of them
  uint32_t program_order = 0;           // where in program order the error was made
  Status error;

  // What streams of the caller's may still do with results in memory of GPUs; under the mutex while
  // a caller holds results.
  std::vector<std::unique_ptr<device::Fence>> fences;
  ExecutionState* next = nullptr;  // of a free list

  bool Done() const {
    for (uint32_t i = 0; i < target_count; ++i) {
      if (!Passed(WaitPoint::kParticipant, i, targets[i].Finished())) return false;
    }
    return true;
  }
  bool FailedRemotely() const {
    return remote_failures.any_set != nullptr &&
           remote_failures.any_set->load(std::memory_order_acquire);
  }
  // Returns whether no stream uses earlier results any more; forgets the fences then.
  bool Unused();
  void AwaitUnused();
  // Returns whether it is finished everywhere, or has failed already with the first error that it
  // can have, and no memory that the caller lent is read any more.
  bool Over() {
    if (FailedRemotely()) CollectFailures();
    const bool fails = Passed(WaitPoint::kLent, !lent) && failed.load(std::memory_order_acquire) &&
                       IsFirstError();
    return Passed(WaitPoint::kResult, fails || Done());
  }

  void Fail(uint32_t position, Status status, bool device_failed) override;
  // Records the errors that other ranks report, until it is done and all have.
  void CollectFailures();
  Status Error();
  // Returns whether no work queue that is not finished may report an error that comes before the
  // one that there is.
  bool IsFirstError();
  void Keep(uint32_t position, Status status);  // Fail(), under the mutex
  void Ref() { refs.fetch_add(1, std::memory_order_relaxed); }
  void Unref(uint32_t count = 1);  // the last one gives it back
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_EXECUTION_STATE_H_
