// SerialScheduler: the starts of tasks if they are taken in a given order, each as early as it can
// be.
//
// A task waits for what it needs and for its lanes. Where nothing else is limited it may still
// start before one that stands before it on other lanes. Where memories or shared resources are
// limited it may not: then the order is that of the starts, so that the free memory at a moment is
// known when the task's turn comes. Every timetable in which nothing waits without need is still
// that of some order.
#ifndef CGRAPH_COMPILER_SCHEDULE_ORDERING_SEARCH_SERIAL_SCHEDULER_H_
#define CGRAPH_COMPILER_SCHEDULE_ORDERING_SEARCH_SERIAL_SCHEDULER_H_

#include <span>
#include <utility>
#include <vector>

#include "compiler/schedule/ordering/list/state.h"
#include "compiler/schedule/ordering/tasks/tasks.h"

namespace cgraph::schedule {

class SerialScheduler {
 public:
  explicit SerialScheduler(const Tasks& tasks)
      : tasks_(tasks), starts_(tasks.size()), holdings_(tasks) {}

  // Places tasks. `order`: all tasks, each behind those it needs. Returns whether all of them can
  // start: false when one waits for memory that is never given back; `starts()` is of no use then.
  bool Place(std::span<const uint32_t> order);
  // Returns the starts by task, in picoseconds.
  const std::vector<uint64_t>& starts() const { return starts_; }

 private:
  using Moment = std::pair<uint64_t, uint32_t>;  // when, task

  void Reset();
  bool Limited() const { return !tasks_.memories.empty() || !tasks_.tokens.empty(); }
  bool FindMemory(uint32_t task, uint64_t& start);
  bool Fits(uint32_t task) const { return holdings_.HasTokens(task) && holdings_.HasMemory(task); }
  void PassUntil(uint64_t now);
  void Take(uint32_t task);

  const Tasks& tasks_;
  std::vector<uint64_t> starts_, free_at_;  // by task; by lane
  // The state at the last start, where something is limited:
  Holdings holdings_;
  std::vector<Moment> ends_, releases_;     // heaps, the earliest first
};

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_ORDERING_SEARCH_SERIAL_SCHEDULER_H_
