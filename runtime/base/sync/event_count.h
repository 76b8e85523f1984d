// EventCount: how a thread that has nothing to do waits, and how another thread ends that wait.
//
// A worker looks for some time before it waits here (spin.h); a waiter sleeps on a futex. While
// no thread sleeps, a notifier pays one load of a line that is not written.
//
// No wake-up is lost because each side writes before it reads. The notifier stores the change and
// then reads `sleepers`; the waiter announces itself in `sleepers` and then checks for a change
// once more. The processor may swap a store and a later load. The waiter, which is about to sleep
// anyway, pays for the fence against that: membarrier() makes every thread of the process pass one.
// (Where the system has no membarrier both sides fence.) Only waiters write `sleepers`: a notifier
// that cleared it could be late and hide the next sleeper.
//
// An event count in memory that several processes map works among all their threads, once
// ShareAmongProcesses() was called on it; its barrier and its futex are then those of the machine.
#ifndef CGRAPH_RUNTIME_BASE_SYNC_EVENT_COUNT_H_
#define CGRAPH_RUNTIME_BASE_SYNC_EVENT_COUNT_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "runtime/base/sync/spin.h"

namespace cgraph {

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

class alignas(128) EventCount {
 public:
  EventCount();

  // Called at load, by every process that maps the event count, before anybody waits or notifies.
  void ShareAmongProcesses();

  // Call after the change was stored with release order.
  void Notify() {
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the compiler must not swap them either
    const uint32_t sleepers = both_fence_ ? sleepers_.fetch_add(0, std::memory_order_seq_cst)
                                          : sleepers_.load(std::memory_order_relaxed);
    if (sleepers != 0) Wake();
  }

  // Sleeps until notified or until the deadline, unless `predicate()` is true once the sleep is
  // announced. Returns false when the deadline passed.
  template <typename Predicate>
  bool Wait(Predicate&& predicate, const Deadline& deadline = {}) {
    const uint32_t epoch = Announce();
    const bool in_time = predicate() || Block(epoch, deadline);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
    return in_time;
  }

 private:
  uint32_t Announce();
  void Wake();
  bool Block(uint32_t epoch, const Deadline& deadline);

  std::atomic<uint32_t> sleepers_{0};
  std::atomic<uint32_t> epoch_{0};
  std::atomic<int64_t> woken_ns_{0};  // steady clock, of the last Wake()
  bool both_fence_;
  bool among_processes_ = false;
};

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_BASE_SYNC_EVENT_COUNT_H_
