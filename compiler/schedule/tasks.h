// Tasks: what the list scheduler sees of a schedule, in flat tables, so that a search can try
// thousands of orders.
//
// A task holds all its lanes from its start to its end: a call one, a transfer two, a collective
// one of every participant. Tasks that have the same lanes and are of the same kind stand in one
// queue, since whatever holds back one holds back all.
#ifndef CGRAPH_COMPILER_SCHEDULE_TASKS_H_
#define CGRAPH_COMPILER_SCHEDULE_TASKS_H_

#include <cstdint>
#include <span>
#include <vector>

namespace cgraph::schedule {

// Lists of numbers, one after the other.
class Lists {
 public:
  void Add(std::span<const uint32_t> list) {
    values_.insert(values_.end(), list.begin(), list.end());
    ends_.push_back(static_cast<uint32_t>(values_.size()));
  }
  std::span<const uint32_t> operator[](size_t i) const {
    return std::span(values_).subspan(ends_[i], ends_[i + 1] - ends_[i]);
  }
  size_t size() const { return ends_.size() - 1; }

 private:
  std::vector<uint32_t> values_, ends_ = {0};
};

// Tasks of a strict queue start in the order of `sequence`, whatever is ready.
struct Queue {
  std::vector<uint32_t> lanes;     // sorted
  std::vector<uint32_t> kinds;     // of calls that rules name: one, or of fused calls two
  std::vector<uint32_t> sequence;  // strict only: all its tasks
  bool strict() const { return !sequence.empty(); }
};

// Counts starts on one lane; see graph::Limit.
struct LaneLimit {
  uint32_t minuend, subtrahend;
  bool at_most;
  int64_t bound;
};

struct Tasks {
  std::vector<uint64_t> durations;     // by task, in picoseconds; tasks stand in program order
  std::vector<uint32_t> queue;         // by task
  Lists predecessors, successors;      // by task; both go forward in program order
  std::vector<Queue> queues;
  std::vector<std::vector<LaneLimit>> limits;  // by lane
  uint32_t kinds = 0;
  uint32_t size() const { return static_cast<uint32_t>(durations.size()); }
};

// When everything starts. Without a way to go on, `order` is shorter than the tasks.
struct Timetable {
  std::vector<uint64_t> starts;  // by task
  std::vector<uint32_t> order;   // tasks as they start
  uint64_t makespan = 0;
};

// In simulated time: whenever lanes are free, starts the task of least rank among those that are
// ready and not held back; it never waits for a better one. `ranks`: by task, each once.
Timetable ListSchedule(const Tasks& tasks, std::span<const uint32_t> ranks);

// By task: the longest path from its start to the end of everything, in picoseconds.
std::vector<uint64_t> RemainingPaths(const Tasks& tasks);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_TASKS_H_
