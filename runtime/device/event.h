// Event: order between lanes. Its one signal instruction counts the rounds it has finished; a wait
// of lag d in round r passes when the count has reached r - d + 1.
#ifndef CGRAPH_RUNTIME_DEVICE_EVENT_H_
#define CGRAPH_RUNTIME_DEVICE_EVENT_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "runtime/device/event_count.h"

namespace cgraph::device {

class alignas(128) Event {
 public:
  // At load: whom to wake.
  void AddListener(EventCount* event_count) {
    if (std::find(listeners_.begin(), listeners_.end(), event_count) == listeners_.end()) {
      listeners_.push_back(event_count);
    }
  }

  void Signal(uint64_t round) {
    count_.store(round + 1, std::memory_order_release);
    for (EventCount* event_count : listeners_) event_count->Notify();
  }
  bool Passed(uint64_t round, uint16_t lag) const {
    return round < lag || count_.load(std::memory_order_acquire) >= round - lag + 1;
  }

 private:
  std::atomic<uint64_t> count_{0};
  alignas(128) std::vector<EventCount*> listeners_;
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_EVENT_H_
