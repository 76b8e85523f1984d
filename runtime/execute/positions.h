// Positions: where a work queue and its queues are, for reports; threads of any rank may ask while
// the work queue runs.
#ifndef CGRAPH_RUNTIME_EXECUTE_POSITIONS_H_
#define CGRAPH_RUNTIME_EXECUTE_POSITIONS_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <type_traits>
#include <vector>

#include "runtime/device/queue.h"
#include "runtime/execute/entry_inbox.h"
#include "runtime/execute/lane_queues.h"
#include "runtime/execute/step_runner.h"

namespace cgraph::engine {

// Position: where a work queue is, as other threads see it.
struct Position {
  bool idle = true;
  bool running = false;  // inside a kernel
  uint32_t graph = 0;
  uint32_t step = 0;
  uint64_t done = 0;
  uint64_t round = 0;
  // Where it is a queue's position: how many of the issued operations are over and how many are
  // not, and the last step that may be the one that runs (device::Head).
  bool of_queue = false;
  uint64_t finished = 0, pending = 0;
  uint32_t last_step = 0;
};

// SharedHeads: where the queues of a work queue are, as its rank tells others of the same machine.
// One thread writes, others read at any time: a sequence lock, as FailureSlot is one. Of more
// queues than there is room for, the first are told.
//
// The version is odd while the heads are written. The writer's fence keeps the heads behind the odd
// version, the reader's keeps them before the second look at it; so a reader that finds one even
// version twice has read heads of one moment. A lock would not do: a rank that dies holding it
// would hang the report of its death.
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
      const uint32_t count = std::min(count_, kMost);  // it may be half written, or a dead rank's
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

class Positions {
 public:
  // All belong to the work queue; `tracks` are by graph.
  Positions(const std::vector<Track>& tracks, const EntryInbox& inbox, const LaneQueues& queues)
      : tracks_(tracks), inbox_(inbox), queues_(queues) {}

  // Returns the work queue's own position; that of its first queue where it has issued all.
  Position Where() const;
  // Returns the position of each of its queues, which may all be at different places.
  std::vector<Position> OfQueues() const;
  std::vector<Position> Of(const std::vector<device::Head>& heads) const;

  // Sets where the queues are, as the rank has told that drives the work queue.
  void SetHeads(std::vector<device::Head> heads);
  // Called at load: where the queues are lies in memory that ranks share, as often as the rank that
  // drives the work queue tells it.
  void ShareHeads(SharedHeads* heads) { shared_heads_ = heads; }
  void TellHeads() const {
    if (shared_heads_ != nullptr) shared_heads_->Set(queues_.Heads());
  }

 private:
  std::vector<device::Head> Known(std::vector<device::Head> heads) const;

  const std::vector<Track>& tracks_;
  const EntryInbox& inbox_;
  const LaneQueues& queues_;
  SharedHeads* shared_heads_ = nullptr;
  mutable std::mutex far_heads_mutex_;   // of the next
  std::vector<device::Head> far_heads_;  // what another rank tells of its queues
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_EXECUTE_POSITIONS_H_
