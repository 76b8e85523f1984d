// Submitter: takes executions in. Their inputs are checked and copied into a frame, and one entry
// goes to every work queue that has work in the graph. All of it is under one lock, so that every
// work queue sees the same order of all graphs.
#ifndef CGRAPH_RUNTIME_ENGINE_SUBMITTER_H_
#define CGRAPH_RUNTIME_ENGINE_SUBMITTER_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include <cgraph/engine.h>

#include "runtime/base/status.h"
#include "runtime/base/sync/mutex.h"
#include "runtime/engine/callers_gpus.h"
#include "runtime/engine/driver.h"
#include "runtime/engine/ending.h"
#include "runtime/engine/execution_pool.h"
#include "runtime/engine/execution_state.h"
#include "runtime/engine/ranks/ranks.h"
#include "runtime/engine/turns.h"
#include "runtime/execute/workers.h"
#include "runtime/load/loaded_plan.h"
#include "runtime/native/running_call.h"

namespace cgraph::engine {

class Submitter {
 public:
  Submitter(const EngineOptions& options, const LoadedPlan& loaded, const Workers& workers,
            const CallersGpus& gpus, ExecutionPool& pool, Driver& driver, Ranks& ranks,
            Ending& ending)
      : options_(options),
        loaded_(loaded),
        workers_(workers),
        gpus_(gpus),
        pool_(pool),
        driver_(driver),
        ranks_(ranks),
        ending_(ending) {}

  // Called once the plan is loaded: makes executions, begins the empty ones that the first rounds
  // of graphs with lags finish, and takes memory for inputs. kInvalid where there is none.
  Status Prepare();

  // Submits an execution. The caller gets two references: one for the Execution, one for its first
  // Outputs.
  Result<ExecutionState*> Submit(uint32_t graph, std::span<const Input> inputs, WhenFull when_full);
  // Submit the empty rounds that an execution of a graph with lags needs to be finished. Flush()
  // drives until there is room for them; Hasten() leaves that to the fallback driver and never
  // blocks.
  Status Flush(const ExecutionState& execution);
  Status Hasten(const ExecutionState& execution);
  // Submits the rounds that Hasten() and Look() left to the fallback driver.
  void FlushWanted();

  // Fails inside a method that this engine calls, and where a library saves or restores an object
  // for it: a wait for the engine would be one for itself there.
  Status CheckCaller() const {
    const bool inside = native::IsInsideCall() ||
                        library_caller_.load(std::memory_order_relaxed) != std::thread::id();
    return inside ? CheckCallerInside() : Status::Ok();
  }

  // Idle: takes the lock of submissions. Await() then waits until no execution is in flight; it
  // gives the lock up meanwhile, but lets no execution begin. It fails where the engine has ended,
  // unless by a time-out that left nothing running, or where the wait was interrupted.
  class Idle {
   public:
    explicit Idle(Submitter& submitter) : submitter_(submitter), lock_(submitter.lock_) {}
    ~Idle() { submitter_.library_caller_.store({}, std::memory_order_relaxed); }
    Idle(const Idle&) = delete;
    Status Await() { return submitter_.AwaitIdle(); }
    // From now on libraries are called by this thread, which must not call the engine.
    void CallLibraries() {
      submitter_.library_caller_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    }

   private:
    Submitter& submitter_;
    std::lock_guard<Mutex> lock_;
  };

  // What the watchdog sees of a graph. Where no caller submits the last rounds of an execution and
  // nothing has been submitted since `submitted_before`, the fallback driver does.
  struct Seen {
    uint64_t retired = 0, submitted = 0;
    bool pending = false;  // some round is not finished
  };
  Seen Look(uint32_t graph, uint64_t submitted_before);

  struct Counts {
    uint64_t executions = 0, errors = 0;
  };
  Counts GetCounts();
  // The execution of the start graph is none of the caller's: forgets it, once it is over.
  void RetireStart();

  // Once the engine has ended: waits until no caller is submitting any more; and gives up the
  // executions that are in progress.
  void AwaitCallers();
  void DropExecutions();

 private:
  // Progress: how far a graph is.
  struct Progress {
    uint64_t submitted = 0;    // executions, empty ones among them: the next one's number
    uint64_t begun = 0;        // behind the last one that was not empty
    uint64_t retired = 0;      // the first that is not known to be done
    uint32_t in_progress = 0;  // not retired and not empty
    uint32_t next_frame = 0;   // of execution `submitted`
    uint32_t oldest_frame = 0;  // of execution `retired`
    uint64_t flush_until = 0;  // executions before this one are to be finished by empty rounds
    LoadedGraph* graph = nullptr;

    uint64_t round() const { return submitted - graph->lag; }  // the next one
    // Returns whether every round that was submitted is known to be finished.
    bool idle() const { return retired + graph->lag == submitted; }
    bool full() const { return submitted - retired == graph->frames.size(); }
    ExecutionState* ExecutionIn(uint32_t frame) const {
      return static_cast<ExecutionState*>(graph->frames[frame].execution);
    }
    void Advance(uint32_t& frame) const {
      if (++frame == graph->frames.size()) frame = 0;
    }
  };

  // All under the lock.
  Status BeginEmpty(Progress& at);
  Status AwaitCapacity(Progress& at, WhenFull when_full, bool& waited);
  Status TryCapacity(Progress& at, WhenFull when_full, Turns::Caller& self, bool& listed);
  Progress* Conflicting(const Progress& at);
  Status AwaitOldest(Progress& at, bool interruptible = false);
  void Retire(Progress& at);
  Status SubmitEmpty(Progress& at);
  void SubmitRound(Progress& at, ExecutionState* execution);
  void AssertSubmittable(const Progress& at, const ExecutionState& execution) const;
  Status FlushUntil(Progress& at, uint64_t until, bool interruptible = false);
  Status AwaitIdle();
  Status DriveToIdle();
  Status CheckCallerInside() const;
  bool IsLibraryCaller() const {
    return library_caller_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }

  const EngineOptions& options_;
  const LoadedPlan& loaded_;
  const Workers& workers_;
  const CallersGpus& gpus_;
  ExecutionPool& pool_;
  Driver& driver_;
  Ranks& ranks_;
  Ending& ending_;

  Mutex lock_;
  Turns turns_;
  std::vector<Progress> progress_;    // by graph
  std::vector<const Input*> given_;   // per port, of the Submit() in progress
  Counts counts_;
  // Who holds the lock while libraries save and restore objects.
  std::atomic<std::thread::id> library_caller_{};
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_SUBMITTER_H_
