// StartCounts: how many calls of each kind have started on each lane, and how many are still to
// start: the numbers that limits compare.
#ifndef CGRAPH_COMPILER_SCHEDULE_ORDERING_LIST_START_COUNTS_H_
#define CGRAPH_COMPILER_SCHEDULE_ORDERING_LIST_START_COUNTS_H_

#include <vector>

#include "compiler/schedule/ordering/tasks/tasks.h"

namespace cgraph::schedule {

class StartCounts {
 public:
  // Counts where nothing has started.
  explicit StartCounts(const Tasks& tasks)
      : kinds_(tasks.kinds), started_(size_t{tasks.lanes} * tasks.kinds), remaining_(started_) {
    for (uint32_t queue : tasks.queue) {
      for (uint32_t kind : tasks.queues[queue].kinds) ++remaining_[At(tasks.queues[queue], kind)];
    }
  }

  void Start(const Queue& queue) {
    for (uint32_t kind : queue.kinds) {
      ++started_[At(queue, kind)];
      --remaining_[At(queue, kind)];
    }
  }
  void TakeBack(const Queue& queue) {
    for (uint32_t kind : queue.kinds) {
      --started_[At(queue, kind)];
      ++remaining_[At(queue, kind)];
    }
  }

  // Returns the limit's difference when a task of the queue, which has one lane, has started, too.
  int64_t DifferenceWith(const Queue& queue, const LaneLimit& limit) const {
    return started_[At(queue, limit.minuend)] - started_[At(queue, limit.subtrahend)] +
           Change(queue, limit);
  }

  // Returns whether the limit keeps the tasks of the queue from starting.
  bool HoldsBack(const LaneLimit& limit, const Queue& queue) const {
    const int64_t change = Change(queue, limit), difference = DifferenceWith(queue, limit);
    if (limit.at_most) return change > 0 && difference > limit.bound;
    return change < 0 && difference < limit.bound && remaining_[At(queue, limit.minuend)] > 0;
  }

 private:
  size_t At(const Queue& queue, uint32_t kind) const {
    return size_t{queue.lanes[0]} * kinds_ + kind;
  }
  static int64_t Change(const Queue& queue, const LaneLimit& limit) {
    int64_t change = 0;
    for (uint32_t kind : queue.kinds) {
      change += int{kind == limit.minuend} - int{kind == limit.subtrahend};
    }
    return change;
  }

  uint32_t kinds_;
  std::vector<int64_t> started_, remaining_;  // by lane and kind
};

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_ORDERING_LIST_START_COUNTS_H_
