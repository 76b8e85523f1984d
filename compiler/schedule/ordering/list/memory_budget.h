// MemoryBudget: decides whether a task may still start, by what the memories hold now and what is
// to come.
//
// A task may start when its bytes are free now, and when afterwards some completion still fits: a
// schedule that starts everything that fits now can end where all tasks wait for bytes that no task
// gives back. The completion that is kept in mind is one order of all tasks, one after the other
// (list_schedule.h), without those that have started. For each of its positions the budget knows
// how many bytes are alive there when everything before it is done: starting a task early adds its
// bytes to the positions before its own, and takes away those that are then over sooner.
#ifndef CGRAPH_COMPILER_SCHEDULE_ORDERING_LIST_MEMORY_BUDGET_H_
#define CGRAPH_COMPILER_SCHEDULE_ORDERING_LIST_MEMORY_BUDGET_H_

#include <vector>

#include "compiler/schedule/ordering/list/state.h"
#include "compiler/schedule/ordering/tasks/tasks.h"

namespace cgraph::schedule {

// RangeMaxTree: a row of numbers whose ranges grow together, and the greatest of them.
class RangeMaxTree {
 public:
  explicit RangeMaxTree(uint32_t size);
  void Add(uint32_t begin, uint32_t end, int64_t value) { Add(1, 0, leaves_, begin, end, value); }
  int64_t Most() const { return most_[1]; }

 private:
  void Add(uint32_t node, uint32_t from, uint32_t to, uint32_t begin, uint32_t end, int64_t value);

  uint32_t leaves_;
  std::vector<int64_t> most_, added_;  // by node of a binary tree: below it; to all below it
};

class MemoryBudget {
 public:
  // A budget where nothing has started. Without a fallback only the bytes that are free now count.
  MemoryBudget(const Tasks& tasks, const Holdings& holdings);

  bool limited() const { return !tasks_.memories.empty(); }
  // Returns the first task of the fallback that has not started; kNone without one.
  uint32_t next() const {
    return next_ < tasks_.fallback.size() ? tasks_.fallback[next_] : kNone;
  }
  // Returns whether the task may start now.
  bool Has(uint32_t task);
  void Start(uint32_t task);

 private:
  bool FitsLater(uint32_t task);
  void FindPlaces();
  uint32_t PlaceOf(uint32_t task, uint32_t memory) const;
  void Change(uint32_t task, int sign);
  uint32_t LastUser(uint32_t block, uint32_t but) const;

  const Tasks& tasks_;
  const Holdings& holdings_;
  // Used with a fallback only. The positions of a memory are those of the fallback's tasks that
  // touch it.
  struct FallbackPosition {
    uint32_t memory, place;
  };
  std::vector<std::vector<FallbackPosition>> places_;  // by task: of each memory that it touches
  std::vector<std::vector<uint32_t>> order_;        // by memory: the task of each place
  std::vector<RangeMaxTree> range_max_;                      // by memory, over its places
  std::vector<std::vector<uint32_t>> user_places_;  // by block, ascending: of those not started
  std::vector<char> started_;          // by task
  uint32_t next_ = 0;                  // in the fallback
};

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_ORDERING_LIST_MEMORY_BUDGET_H_
