// TimelineSemaphore: a 64-bit value that only grows, and the listeners that are woken when it does.
//
// All order between queues, and between queues and the host, is made of these. A signal is done
// when everything before it in its queue is; a wait lets its queue go on when the value is reached.
// On the CPU both are one store and one load; a CUDA stream writes and awaits the same word, which
// then has to lie in memory that the device reaches, and another process that maps the word may do
// the same. So the word lies apart (semaphore_array.h); the listeners are each process's own. A
// device that writes the word wakes no thread: a thread that sees that it has grown calls
// NotifyListeners().
#ifndef CGRAPH_RUNTIME_BASE_SYNC_SEMAPHORE_H_
#define CGRAPH_RUNTIME_BASE_SYNC_SEMAPHORE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "runtime/base/sync/event_count.h"

namespace cgraph {

// The value of a semaphore, in cache lines of its own.
struct alignas(128) SemaphoreWord {
  std::atomic<uint64_t> value{0};
};

class TimelineSemaphore {
 public:
  TimelineSemaphore() = default;  // no semaphore yet
  explicit TimelineSemaphore(SemaphoreWord* word) : word_(&word->value) {}

  // Called at load: adds an event count that is notified when the value grows.
  void AddListener(EventCount* event_count) {
    if (std::find(listeners_.begin(), listeners_.end(), event_count) == listeners_.end()) {
      listeners_.push_back(event_count);
    }
  }

  void Signal(uint64_t value) {
    word_->store(value, std::memory_order_release);
    NotifyListeners();
  }
  void NotifyListeners() const {
    for (EventCount* event_count : listeners_) event_count->Notify();
  }
  uint64_t value() const { return word_->load(std::memory_order_acquire); }
  bool Reached(uint64_t value) const { return this->value() >= value; }
  // The word, for devices that write and await it themselves.
  const std::atomic<uint64_t>* word() const { return word_; }
  std::atomic<uint64_t>* word() { return word_; }

 private:
  std::atomic<uint64_t>* word_ = nullptr;
  std::vector<EventCount*> listeners_;
};

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_BASE_SYNC_SEMAPHORE_H_
