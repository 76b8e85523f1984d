// Mutex: a lock that is held for moments and rarely wanted by two threads at once.
#ifndef CGRAPH_RUNTIME_BASE_SYNC_MUTEX_H_
#define CGRAPH_RUNTIME_BASE_SYNC_MUTEX_H_

#include <atomic>
#include <cstdint>

#include "runtime/base/sync/event_count.h"

namespace cgraph {

// A lock that costs one exchange when no other thread wants it.
class Mutex {
 public:
  bool try_lock() { return state_.exchange(1, std::memory_order_acquire) == 0; }
  void lock() {
    if (!try_lock()) LockSlow();
  }
  void unlock() {
    state_.store(0, std::memory_order_release);
    event_count_.Notify();
  }
  bool held() const { return state_.load(std::memory_order_acquire) != 0; }

 private:
  void LockSlow();
  std::atomic<uint32_t> state_{0};
  EventCount event_count_;
};

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_BASE_SYNC_MUTEX_H_
