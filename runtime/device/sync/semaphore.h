// TimelineSemaphore: a 64-bit value that only grows, and the listeners that are woken when it does.
//
// All order between queues, and between queues and the host, is made of these. A signal is done
// when everything before it in its queue is; a wait lets its queue go on when the value is reached.
// On the CPU both are one store and one load; a CUDA stream writes and awaits the same word in
// pinned memory.
#ifndef CGRAPH_RUNTIME_DEVICE_SYNC_SEMAPHORE_H_
#define CGRAPH_RUNTIME_DEVICE_SYNC_SEMAPHORE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "runtime/device/sync/event_count.h"

namespace cgraph::device {

class alignas(128) TimelineSemaphore {
 public:
  // Called at load: adds an event count that is notified when the value grows.
  void AddListener(EventCount* event_count) {
    if (std::find(listeners_.begin(), listeners_.end(), event_count) == listeners_.end()) {
      listeners_.push_back(event_count);
    }
  }

  void Signal(uint64_t value) {
    value_.store(value, std::memory_order_release);
    for (EventCount* event_count : listeners_) event_count->Notify();
  }
  uint64_t value() const { return value_.load(std::memory_order_acquire); }
  bool Reached(uint64_t value) const { return this->value() >= value; }

 private:
  std::atomic<uint64_t> value_{0};
  alignas(128) std::vector<EventCount*> listeners_;
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_SYNC_SEMAPHORE_H_
