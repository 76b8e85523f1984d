// StartCounts: how many actions of each kind are open or closed on each lane, and how many are
// still to close: the numbers that limits compare. The task of an action's last call closes it when
// it starts.
#ifndef CGRAPH_COMPILER_SCHEDULE_ORDERING_LIST_START_COUNTS_H_
#define CGRAPH_COMPILER_SCHEDULE_ORDERING_LIST_START_COUNTS_H_

#include <vector>

#include "compiler/schedule/ordering/tasks/tasks.h"

namespace cgraph::schedule {

class StartCounts {
 public:
  // Counts where nothing has started.
  explicit StartCounts(const Tasks& tasks)
      : kinds_(tasks.kinds),
        opened_(size_t{tasks.lanes} * tasks.kinds),
        closed_(opened_),
        remaining_(opened_) {
    for (uint32_t queue : tasks.queue) Add(tasks.queues[queue], 0, 0, tasks.queues[queue].closes);
  }

  void Start(const Queue& queue) { Add(queue, queue.opens, queue.closes, -queue.closes); }
  void TakeBack(const Queue& queue) { Add(queue, -queue.opens, -queue.closes, queue.closes); }

  // Returns the limit's difference when a task of the queue, which has one lane, has started, too.
  int64_t DifferenceWith(const Queue& queue, const LaneLimit& limit) const {
    const size_t minuend = At(queue, limit.minuend), subtrahend = At(queue, limit.subtrahend);
    const int64_t difference = limit.at_most ? opened_[minuend] - closed_[subtrahend]
                                             : closed_[minuend] - opened_[subtrahend];
    return difference + Change(queue, limit);
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
  void Add(const Queue& queue, int opened, int closed, int remaining) {
    for (uint32_t kind : queue.kinds) {
      opened_[At(queue, kind)] += opened;
      closed_[At(queue, kind)] += closed;
      remaining_[At(queue, kind)] += remaining;
    }
  }
  // How a start in the queue changes the limit's difference.
  static int64_t Change(const Queue& queue, const LaneLimit& limit) {
    const bool adds = limit.at_most ? queue.opens : queue.closes;
    const bool takes = limit.at_most ? queue.closes : queue.opens;
    int64_t change = 0;
    for (uint32_t kind : queue.kinds) {
      change += int{adds && kind == limit.minuend} - int{takes && kind == limit.subtrahend};
    }
    return change;
  }

  uint32_t kinds_;
  std::vector<int64_t> opened_, closed_, remaining_;  // by lane and kind
};

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_ORDERING_LIST_START_COUNTS_H_
