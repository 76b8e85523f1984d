// SharedHeads: where the queues of a work queue are, as its rank tells others of the same machine.
#ifndef CGRAPH_RUNTIME_EXECUTE_SHARED_HEADS_H_
#define CGRAPH_RUNTIME_EXECUTE_SHARED_HEADS_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "runtime/device/queue.h"

namespace cgraph::engine {

// One thread writes, others read at any time: a sequence lock, as FailureSlot is one. Of more
// queues than there is room for, the first are told.
class SharedHeads {
 public:
  void Set(const std::vector<device::Head>& heads) {
    const uint64_t version = version_.load(std::memory_order_relaxed);
    version_.store(version + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    count_ = static_cast<uint32_t>(std::min<size_t>(heads.size(), kMost));
    std::copy_n(heads.begin(), count_, heads_);
    version_.store(version + 2, std::memory_order_release);
  }
  // Returns what was told last; nothing where it is being told at the moment, time after time.
  std::vector<device::Head> Get() const {
    for (int tries = 0; tries < 100; ++tries) {
      const uint64_t version = version_.load(std::memory_order_acquire);
      if (version % 2 != 0) continue;
      const uint32_t count = std::min(count_, kMost);
      std::vector<device::Head> heads(heads_, heads_ + count);
      std::atomic_thread_fence(std::memory_order_acquire);
      if (version_.load(std::memory_order_relaxed) == version) return heads;
    }
    return {};
  }

 private:
  static constexpr uint32_t kMost = 32;
  static_assert(std::is_trivially_copyable_v<device::Head>);

  std::atomic<uint64_t> version_{0};  // odd: while it is written
  uint32_t count_ = 0;
  device::Head heads_[kMost];
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_EXECUTE_SHARED_HEADS_H_
