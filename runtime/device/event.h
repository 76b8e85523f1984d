// Event: order between lanes. Its one signal instruction counts the rounds it has finished; a wait
// of lag d in round r passes when the count has reached r - d + 1.
#ifndef CGRAPH_RUNTIME_DEVICE_EVENT_H_
#define CGRAPH_RUNTIME_DEVICE_EVENT_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "runtime/device/bell.h"

namespace cgraph::device {

class alignas(128) Event {
 public:
  // At load: whom to wake.
  void AddListener(Bell* bell) {
    if (std::find(listeners_.begin(), listeners_.end(), bell) == listeners_.end()) {
      listeners_.push_back(bell);
    }
  }

  void Signal(uint64_t round) {
    count_.store(round + 1, std::memory_order_release);
    for (Bell* bell : listeners_) bell->Ring();
  }
  bool Passed(uint64_t round, uint16_t lag) const {
    return round < lag || count_.load(std::memory_order_acquire) >= round - lag + 1;
  }

 private:
  std::atomic<uint64_t> count_{0};
  alignas(128) std::vector<Bell*> listeners_;
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_EVENT_H_
