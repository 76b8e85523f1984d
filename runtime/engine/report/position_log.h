// PositionLog: since when each queue is where it is, as the watchdog has seen it. It looks at the
// queues every few milliseconds anyhow, so lanes themselves never ask for the time.
#ifndef CGRAPH_RUNTIME_ENGINE_REPORT_POSITION_LOG_H_
#define CGRAPH_RUNTIME_ENGINE_REPORT_POSITION_LOG_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/execute/work_queue.h"

namespace cgraph::engine {

class PositionLog {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Called at load.
  void Reserve(size_t work_queues) { of_work_queue_.resize(work_queues); }

  // Notes where a work queue is, which allocates nothing, and where one of its queues is (`slot`,
  // from 1).
  void Note(uint32_t work_queue, const Position& position, Time now) {
    std::lock_guard lock(mutex_);
    Note(of_work_queue_[work_queue], KeyOf(position), now);
  }
  void NoteQueue(uint32_t work_queue, uint32_t slot, const Position& position, Time now) {
    std::lock_guard lock(mutex_);
    Note(of_queue_[{work_queue, slot}], KeyOf(position), now);
  }
  // Returns for how many seconds it is known to be there; none where it has moved since it was
  // noted. `slot`: 0 of the work queue itself.
  std::optional<double> SecondsAt(uint32_t work_queue, uint32_t slot, const Position& position,
                                  Time now) const {
    std::lock_guard lock(mutex_);
    const Seen* seen = nullptr;
    if (slot == 0) {
      if (work_queue < of_work_queue_.size()) seen = &of_work_queue_[work_queue];  // is reserved
    } else if (const auto found = of_queue_.find({work_queue, slot}); found != of_queue_.end()) {
      seen = &found->second;
    }
    if (seen == nullptr || seen->since == Time() || !(seen->key == KeyOf(position))) return {};
    return std::chrono::duration<double>(now - seen->since).count();
  }

 private:
  struct Key {
    bool idle = true, running = false;
    uint32_t graph = 0, step = 0;
    uint64_t round = 0, done = 0;
    bool operator==(const Key&) const = default;
  };
  struct Seen {
    Key key;
    Time since;  // never, before it is noted
  };

  // What changes whenever a queue moves. Of a device's queue, an operation that begins is a move.
  static Key KeyOf(const Position& position) {
    if (position.idle) return {.done = position.done};
    return {false, position.of_queue && position.running, position.graph, position.step,
            position.round};
  }
  static void Note(Seen& seen, const Key& key, Time now) {
    if (seen.since == Time() || !(seen.key == key)) seen = {key, now};
  }

  mutable std::mutex mutex_;
  std::vector<Seen> of_work_queue_;
  std::map<std::pair<uint32_t, uint32_t>, Seen> of_queue_;
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_REPORT_POSITION_LOG_H_
