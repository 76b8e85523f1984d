// Driver: lends threads to worker 0, which has none of its own.
//
// The holder of the lock drives. A caller without a deadline takes the lock and drives until its
// result is there; if the lock is taken, the caller sleeps until its result is there or the lock is
// free. A caller with a deadline may not take it (a kernel could outlast the deadline). It calls
// the fallback driver instead, a thread that drives for as long as worker 0 has anything left to
// do. So it is, too, where a caller has dropped an execution, or does something else.
#ifndef CGRAPH_RUNTIME_ENGINE_DRIVER_H_
#define CGRAPH_RUNTIME_ENGINE_DRIVER_H_

#include <atomic>
#include <functional>
#include <thread>

#include "runtime/base/sync/event_count.h"
#include "runtime/base/sync/mutex.h"
#include "runtime/engine/ending.h"
#include "runtime/engine/execution_state.h"
#include "runtime/execute/workers.h"

namespace cgraph::engine {

class Driver {
 public:
  Driver(const LoadedPlan& loaded, const Workers& workers, Ending& ending)
      : loaded_(loaded), workers_(workers), ending_(ending) {}

  // Starts the fallback driver. `flush` submits the rounds that were left to it. Throws
  // std::system_error.
  void Start(std::function<void()> flush);
  // Once the engine has ended: wait until no caller drives any more, and the fallback driver's end.
  void Join();
  void JoinFallback();

  // Blocks until the execution is over or the engine has ended; drives.
  void Await(ExecutionState& execution);
  // As Await(), without driving; returns when `deadline` has passed, too.
  void AwaitUntil(ExecutionState& execution, const Deadline& deadline);
  // Blocks until it is done or the engine has ended; drives. Where there is `interrupted`, it
  // is asked between slices, in which this thread does not drive, since a kernel may take longer;
  // returns false where it says so first.
  bool AwaitDone(const ExecutionState& execution, const std::function<bool()>& interrupted);

  // Makes sure that submitted executions go on although no caller waits for them.
  void EnsureProgress();
  // Returns whether worker 0 has something to do, and no thread drives it.
  bool Unattended() const { return !lock_.held() && Pending(); }

 private:
  bool Pending() const;
  template <typename Over>
  void AwaitWithoutDriving(Over&& over, const Deadline& deadline);
  template <typename Until>
  void DriveUntil(Until&& until);
  void Release();
  void RunFallback(const std::function<void()>& flush);

  const LoadedPlan& loaded_;
  const Workers& workers_;
  Ending& ending_;

  alignas(128) Mutex lock_;  // its holder drives worker 0
  alignas(128) std::atomic<bool> called_{false};  // the fallback driver is
  EventCount wakeup_;
  std::thread fallback_;
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_DRIVER_H_
