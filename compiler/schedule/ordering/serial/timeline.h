// Timeline: the times at which one lane, or one token of a shared resource, is busy in every round.
#ifndef CGRAPH_COMPILER_SCHEDULE_ORDERING_SERIAL_TIMELINE_H_
#define CGRAPH_COMPILER_SCHEDULE_ORDERING_SERIAL_TIMELINE_H_

#include <algorithm>
#include <cstdint>
#include <map>

namespace cgraph::schedule {

inline constexpr uint64_t kNever = UINT64_MAX;

class Timeline {
 public:
  explicit Timeline(uint64_t period) : period_(period) {}

  // Returns the first moment at or after `time` from which it is free for `length`; kNever: there
  // is none in any round.
  uint64_t Free(uint64_t time, uint64_t length) const {
    if (length > period_) return kNever;
    const uint64_t last = time + period_;
    while (time <= last) {
      const uint64_t wait = WaitAt(time % period_, length);
      if (wait == 0) return time;
      time += wait;
    }
    return kNever;
  }

  void Take(uint64_t time, uint64_t length) {
    if (length == 0) return;
    const uint64_t begin = time % period_, end = begin + length;
    TakePiece(begin, std::min(end, period_));
    if (end > period_) TakePiece(0, end - period_);
  }

 private:
  // Returns how long a task of this length has to wait from the moment `begin` of a round, until
  // the busy times in its way have ended.
  uint64_t WaitAt(uint64_t begin, uint64_t length) const {
    const uint64_t end = begin + length;
    if (const uint64_t busy = BusyUntil(begin, std::min(end, period_))) return busy - begin;
    if (end <= period_) return 0;
    const uint64_t busy = BusyUntil(0, end - period_);
    return busy == 0 ? 0 : period_ - begin + busy;
  }

  // Returns the end of the first busy time that reaches into [begin, end), which lies in one round;
  // 0: none.
  uint64_t BusyUntil(uint64_t begin, uint64_t end) const {
    auto piece = pieces_.upper_bound(begin);
    if (piece != pieces_.begin() && std::prev(piece)->second > begin) --piece;
    return piece != pieces_.end() && piece->first < end ? piece->second : 0;
  }

  // Adds a busy time. Busy times that touch become one, so that a lane without gaps is passed over
  // in one step.
  void TakePiece(uint64_t begin, uint64_t end) {
    auto next = pieces_.lower_bound(begin);
    if (next != pieces_.end() && next->first == end) {
      end = next->second;
      next = pieces_.erase(next);
    }
    if (next != pieces_.begin() && std::prev(next)->second == begin) {
      std::prev(next)->second = end;
    } else {
      pieces_.emplace_hint(next, begin, end);
    }
  }

  const uint64_t period_;
  std::map<uint64_t, uint64_t> pieces_;  // begins and ends
};

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_ORDERING_SERIAL_TIMELINE_H_
