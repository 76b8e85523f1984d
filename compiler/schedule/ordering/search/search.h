// Search: the best order of tasks that is found within a given effort.
//
// Three searches, one after the other. First rules: the ones by which people schedule pipelines,
// with varied preferences and bounds (search_rules.cpp). Then the bounds of single lanes. Then
// orders themselves, since a list schedule, which never waits, can exclude the best one
// (search_orders.cpp). At the end come orders that need no search, so that the result is never
// worse than these: those that the caller knows, and that of HEFT (known_orders.cpp); where one is
// better, orders are searched from there for an eighth of the effort more. Random numbers come from
// counters, and effort is counted in tasks placed: the same tasks give the same order on every
// machine.
#ifndef CGRAPH_COMPILER_SCHEDULE_ORDERING_SEARCH_SEARCH_H_
#define CGRAPH_COMPILER_SCHEDULE_ORDERING_SEARCH_SEARCH_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "compiler/schedule/options.h"
#include "compiler/schedule/ordering/tasks/tasks.h"

namespace cgraph::schedule {

// EffortBudget: what is left of the effort.
class EffortBudget {
 public:
  explicit EffortBudget(uint32_t effort) : left_(int64_t{effort} * 10'000), few_(left_ / 20) {}
  void Spend(int64_t tasks) { left_ -= tasks; }
  int64_t left() const { return left_; }
  bool over() const { return left_ <= 0; }
  // Leaves a little effort, to find more timetables that are as good as the best.
  void LeaveFew() { left_ = std::min(left_, few_); }
  void End() { left_ = 0; }

 private:
  int64_t left_;
  const int64_t few_;
};

// Cost: less is better: by the goal, ties by the other figure.
struct Cost {
  uint64_t goal = UINT64_MAX, other = UINT64_MAX;
  auto operator<=>(const Cost&) const = default;
};
// Returns the cost; `starts` is by task.
Cost CostOf(const Tasks& tasks, std::span<const uint64_t> starts, Goal goal);

// Returns a lower bound: no lane is done before its first task can come, all its tasks have run and
// the work after its last one has ended; nor is anything before the longest path.
Cost LeastCost(const Tasks& tasks, Goal goal);

// BestK: the best timetables so far, all different, the best first.
class BestK {
 public:
  // Stops looking when it has `wanted` timetables that cost the least possible.
  BestK(Cost least, size_t wanted) : least_(least), wanted_(wanted) {}

  // Offers a timetable; returns whether it is now the best.
  bool Offer(Timetable table, Cost cost);

  bool empty() const { return tables_.empty(); }
  const Timetable& table() const { return tables_.front(); }
  Cost cost() const { return costs_.empty() ? Cost{} : costs_.front(); }
  // Returns whether none can be better; and whether there are as many such timetables as are
  // wanted.
  bool perfect() const { return cost() == least_; }
  bool done() const { return costs_.size() >= wanted_ && costs_[wanted_ - 1] == least_; }
  // Returns those whose goal is hardly worse than that of the best.
  std::vector<Timetable> Take();
  std::vector<Timetable> TakeAll() { return std::move(tables_); }

  static constexpr size_t kMost = 8;

 private:
  const Cost least_;
  const size_t wanted_;
  std::vector<Timetable> tables_;
  std::vector<Cost> costs_;
};

// KnownOrders: what is known before a search: an order of all tasks, empty for none, and policies.
struct KnownOrders {
  std::vector<uint32_t> order;
  std::vector<Policy> policies;
};

// Returns the best timetables found, the best first. There are several, since it is known only when
// buffers have offsets which of them fits into a memory. Empty: nothing was found that keeps the
// memories.
std::vector<Timetable> Search(const Tasks& tasks, const SearchOptions& options,
                              const KnownOrders& known = {});

// Those of what is known, and of HEFT.
std::vector<Timetable> KnownTables(const Tasks& tasks, const KnownOrders& known);

// The parts of the search. Each is given the timetables found so far, and improves them if it can.
void TryKnownOrders(const Tasks& tasks, const KnownOrders& known, Goal goal, EffortBudget& budget,
                    BestK& best);
void SearchRules(const Tasks& tasks, Goal goal, EffortBudget& budget, BestK& best);
void SearchOrders(const Tasks& tasks, Goal goal, EffortBudget& budget, BestK& best);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_ORDERING_SEARCH_SEARCH_H_
