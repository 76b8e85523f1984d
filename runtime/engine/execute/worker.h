// Worker: a thread that drives work queues. Worker 0 has no thread of its own: a caller that waits
// for a result drives it (see drive.cpp).
#ifndef CGRAPH_RUNTIME_ENGINE_EXECUTE_WORKER_H_
#define CGRAPH_RUNTIME_ENGINE_EXECUTE_WORKER_H_

#include <cstdint>
#include <thread>
#include <vector>

#include "runtime/device/sync/event_count.h"
#include "runtime/device/sync/spin.h"
#include "runtime/engine/execute/work_queue.h"

namespace cgraph::engine {

struct Worker {
  std::vector<WorkQueue*> work_queues;
  // Notified when something may have become possible for one of its work queues.
  device::EventCount* event_count = nullptr;
  device::Memory scratch;
  std::thread thread;

  // Goes round the work queues once; true when anything was done.
  bool Advance() {
    bool any = false;
    for (WorkQueue* work_queue : work_queues) any |= work_queue->Advance();
    return any;
  }
  // Returns whether something was submitted that its work queues have not finished.
  bool Pending() const {
    for (const WorkQueue* work_queue : work_queues) {
      if (work_queue->pushed() != work_queue->done()) return true;
    }
    return false;
  }
  // Drives until `until()`, which reads only sequentially consistent atomics: spins while nothing
  // can be done, then sleeps until the event count is notified.
  template <typename Until>
  void Drive(bool spins, Until&& until) {
    device::Spinner spinner(spins);
    while (!until()) {
      if (Advance()) {
        spinner.Reset();
      } else if (!spinner.Again()) {
        event_count->Wait([&] { return until() || Advance(); });
        spinner.Reset();
      }
    }
  }
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_EXECUTE_WORKER_H_
