// Tasks: the list scheduler's view of a schedule, in flat tables, so that a search can try
// thousands of orders.
//
// A task holds all its lanes from its start to its end: a call one, a transfer two, a collective
// one of every participant. Tasks that have the same lanes and are of the same kind stand in one
// queue, since whatever holds back one holds back all.
#ifndef CGRAPH_COMPILER_SCHEDULE_ORDERING_TASKS_TASKS_H_
#define CGRAPH_COMPILER_SCHEDULE_ORDERING_TASKS_TASKS_H_

#include <cstdint>
#include <span>
#include <vector>

namespace cgraph::schedule {

inline constexpr uint32_t kNone = UINT32_MAX;

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

struct Queue {
  std::vector<uint32_t> lanes;  // sorted
  std::vector<uint32_t> kinds;  // of calls that rules name: its own, then others that count it
  // Whether a task is the first of an action of these kinds, and whether it is the last; see
  // graph::Rules.
  bool opens = true, closes = true;
};

// Block: memory that is taken when the task that writes it first starts, and given back when the
// last that touches it ends.
struct Block {
  uint32_t memory;  // into Tasks::memories
  int64_t bytes;
};

struct Tasks {
  // The tasks, by number. They stand in program order, one of fused calls where the first of them
  // does; in all other cases predecessors stand before successors.
  std::vector<uint64_t> durations;  // picoseconds
  std::vector<uint32_t> queue;
  std::vector<uint32_t> actor;  // of the call, or the first of its action; kNone: rules name none
  std::vector<uint32_t> opener;  // the first task of its action; itself where it is in none
  Lists predecessors, successors;
  Lists takes, touches;  // blocks
  // Where there are shared resources: by task those that it holds, one as often as tokens of it,
  // and how long from its start.
  Lists holds;
  std::vector<uint64_t> held;

  std::vector<Queue> queues;
  std::vector<Block> blocks;
  std::vector<int64_t> memories;  // what each can hold
  std::vector<uint32_t> tokens;   // of each shared resource; empty: there are none
  // Where memory is limited: all tasks in an order in which one after the other fits; empty: none
  // is known.
  std::vector<uint32_t> fallback;
  uint32_t lanes = 0, kinds = 0;

  uint32_t size() const { return static_cast<uint32_t>(durations.size()); }
  // Returns whether each memory has the bytes that the task takes free.
  bool Fits(uint32_t task, std::span<const int64_t> free) const;
};

// LoopCarriedDependency: `later` of execution e + executions starts after `earlier` of execution e
// has ended.
struct LoopCarriedDependency {
  uint32_t earlier, later;  // tasks
  uint32_t executions;
};

// LaneLimit: counts actions on one lane; see graph::Limit.
struct LaneLimit {
  uint32_t minuend, subtrahend;
  bool at_most;
  int64_t bound;
  uint32_t rule = kNone;  // into graph::Rules::limits, of one that the program states
};

// Policy: the priorities and limits of a list schedule.
struct Policy {
  std::vector<uint32_t> ranks;                 // by task, each number once: the least first
  std::vector<std::vector<LaneLimit>> limits;  // by lane
  // Tasks of a queue that has a sequence start in its order, whatever else is ready.
  std::vector<std::vector<uint32_t>> sequences;
  std::vector<uint32_t> sequence_of;           // by queue, kNone: no sequence
};

// Timetable: when everything starts. Where something waits for ever, `order` is shorter than the
// tasks.
struct Timetable {
  std::vector<uint64_t> starts;  // by task, picoseconds
  std::vector<uint32_t> order;   // tasks as they start
  uint64_t makespan = 0;
  std::vector<uint32_t> lags = {};  // by task, of a steady state; empty: none has one
};

// Returns by task the longest path from its start to the end of everything, in picoseconds; for
// tasks that wait for each other something less.
std::vector<uint64_t> RemainingPaths(const Tasks& tasks);
// Returns by task the longest path from the start of everything to its end, likewise.
std::vector<uint64_t> ElapsedPaths(const Tasks& tasks);

// Ranks by class (the least first; calls that no rules name have class 0, and of others those whose
// action is open come before all that open one), then by `keys` (missing ones count as 0), then by
// the longest remaining path, then by program order.
std::vector<uint32_t> RankTasks(const Tasks& tasks, std::span<const uint32_t> classes,
                                const std::vector<std::vector<int64_t>>& keys);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_ORDERING_TASKS_TASKS_H_
