// Worker: a thread that drives work queues. Worker 0 has no thread of its own: a caller that waits
// for a result drives it (see drive.cpp).
#ifndef CGRAPH_RUNTIME_ENGINE_EXECUTE_WORKER_H_
#define CGRAPH_RUNTIME_ENGINE_EXECUTE_WORKER_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "runtime/device/sync/event_count.h"
#include "runtime/device/sync/spin.h"
#include "runtime/engine/execute/work_queue.h"

namespace cgraph::engine {

class Machines;

struct Worker {
  std::vector<WorkQueue*> work_queues;
  // Notified when something may have become possible for one of its work queues.
  device::EventCount* event_count = nullptr;
  device::Memory scratch;
  std::thread thread;
  Machines* machines = nullptr;  // of the one worker of a rank that goes on with its messages

  // Goes round the work queues once; true when anything was done.
  bool Advance() {
    bool any = machines != nullptr && PollMachines();
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
  // can be done, then sleeps until the event count is notified. Nobody notifies it of messages, so
  // whoever goes on with them looks from time to time, at longer and longer intervals.
  template <typename Until>
  void Drive(bool spins, Until&& until) {
    device::Spinner spinner(spins);
    std::chrono::microseconds nap = kShortestNap;
    while (!until()) {
      if (Advance()) {
        spinner.Reset();
        nap = kShortestNap;
      } else if (!spinner.Again()) {
        device::Deadline deadline;
        if (machines != nullptr) deadline = std::chrono::steady_clock::now() + nap;
        if (event_count->Wait([&] { return until() || Advance(); }, deadline)) {
          spinner.Reset();
          nap = kShortestNap;
        } else {
          nap = std::min(2 * nap, kLongestNap);
        }
      }
    }
  }

 private:
  static constexpr std::chrono::microseconds kShortestNap{20}, kLongestNap{1000};
  bool PollMachines();
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_EXECUTE_WORKER_H_
