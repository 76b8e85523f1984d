// Worker: a thread that drives work queues. Worker 0 has no thread of its own: a caller that waits
// for a result drives it (engine/driver.h).
#ifndef CGRAPH_RUNTIME_EXECUTE_WORKER_H_
#define CGRAPH_RUNTIME_EXECUTE_WORKER_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/base/sync/event_count.h"
#include "runtime/base/sync/spin.h"
#include "runtime/execute/work_queue.h"

namespace cgraph::engine {

struct Worker {
  std::vector<WorkQueue*> work_queues;
  // Notified when something may have become possible for one of its work queues.
  EventCount* event_count = nullptr;
  device::Memory scratch;
  std::thread thread;
  // Of the one worker of a rank that goes on with its messages: does that, and returns whether
  // anything has happened.
  std::function<bool()> poll;

  // Goes round the work queues once; true when anything was done. All of them are tried, also where
  // the first has moved, so that none starves.
  bool Advance() {
    bool any = poll && poll();
    for (WorkQueue* work_queue : work_queues) any |= work_queue->Advance();
    return any;
  }
  // Returns whether something was submitted that its work queues have not finished.
  bool Pending() const {
    for (const WorkQueue* work_queue : work_queues) {
      if (work_queue->inbox().pending()) return true;
    }
    return false;
  }
  // Drives until `until()`, which reads only sequentially consistent atomics. While nothing can be
  // done it spins, then yields its core (spin.h; `yields`: at once), then sleeps until the event
  // count is notified. Messages notify nothing, so a worker that polls looks for them from
  // time to time, at intervals that grow with the wait.
  template <typename Until>
  void Drive(bool yields, Until&& until) {
    Spinner spinner(yields);
    std::optional<Clock::time_point> waits_since;
    const auto moved = [&] {
      spinner.Reset();
      waits_since.reset();
    };
    while (!until()) {
      if (Advance()) {
        moved();
      } else if (!spinner.Again()) {
        Deadline deadline;
        if (poll) {
          const auto now = Clock::now();
          if (!waits_since) waits_since = now;
          deadline = now + NapAfter(now - *waits_since);
        }
        // Advance() is tried once more after the sleep is announced: what came before that notified
        // nothing, and what comes later ends the sleep.
        if (event_count->Wait([&] { return until() || Advance(); }, deadline)) moved();
      }
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  // Returns the time between two looks for messages: a small part of what was waited already, so
  // that a message is late by little of the wait, and a long wait takes little of the processor.
  static std::chrono::nanoseconds NapAfter(std::chrono::nanoseconds waited) {
    constexpr std::chrono::nanoseconds kShortest = std::chrono::microseconds(20);
    constexpr std::chrono::nanoseconds kLongest = std::chrono::milliseconds(10);
    return std::clamp(waited / 64, kShortest, kLongest);
  }
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_EXECUTE_WORKER_H_
