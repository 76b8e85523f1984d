#include "compiler/schedule/ordering/search/search.h"

#include <algorithm>

namespace cgraph::schedule {

Cost CostOf(const Tasks& tasks, std::span<const uint64_t> starts, Goal goal) {
  uint64_t makespan = 0, span = 0;
  std::vector<uint64_t> first(tasks.lanes, UINT64_MAX), last(tasks.lanes, 0);
  for (uint32_t task = 0; task < tasks.size(); ++task) {
    const uint64_t end = starts[task] + tasks.durations[task];
    makespan = std::max(makespan, end);
    const Queue& queue = tasks.queues[tasks.queue[task]];
    if (queue.kinds.empty()) continue;
    first[queue.lanes[0]] = std::min(first[queue.lanes[0]], starts[task]);
    last[queue.lanes[0]] = std::max(last[queue.lanes[0]], end);
  }
  for (uint32_t lane = 0; lane < tasks.lanes; ++lane) {
    if (last[lane] > 0) span = std::max(span, last[lane] - first[lane]);
  }
  return goal == Goal::kMakespan ? Cost{makespan, span} : Cost{span, makespan};
}

Cost LeastCost(const Tasks& tasks, Goal goal) {
  const std::vector<uint64_t> elapsed = ElapsedPaths(tasks), remaining = RemainingPaths(tasks);
  struct Lane {
    uint64_t head = UINT64_MAX, work = 0, tail = UINT64_MAX;
    bool calls = false;
  };
  std::vector<Lane> lanes(tasks.lanes);
  uint64_t makespan = 0, span = 0;
  for (uint32_t task = 0; task < tasks.size(); ++task) {
    makespan = std::max(makespan, elapsed[task]);
    const Queue& queue = tasks.queues[tasks.queue[task]];
    for (uint32_t lane : queue.lanes) {
      lanes[lane].head = std::min(lanes[lane].head, elapsed[task] - tasks.durations[task]);
      lanes[lane].tail = std::min(lanes[lane].tail, remaining[task] - tasks.durations[task]);
      lanes[lane].work += tasks.durations[task];
    }
    if (!queue.kinds.empty()) lanes[queue.lanes[0]].calls = true;
  }
  for (const Lane& lane : lanes) {
    if (lane.work == 0) continue;
    makespan = std::max(makespan, lane.head + lane.work + lane.tail);
    if (lane.calls) span = std::max(span, lane.work);
  }
  return goal == Goal::kMakespan ? Cost{makespan, span} : Cost{span, makespan};
}

bool BestK::Offer(Timetable table, Cost cost) {
  if (costs_.size() == kMost && !(cost < costs_.back())) return false;
  const auto same = std::find_if(tables_.begin(), tables_.end(), [&](const Timetable& other) {
    return other.starts == table.starts;
  });
  if (same != tables_.end()) return false;
  const auto place = std::upper_bound(costs_.begin(), costs_.end(), cost) - costs_.begin();
  costs_.insert(costs_.begin() + place, cost);
  tables_.insert(tables_.begin() + place, std::move(table));
  if (costs_.size() > kMost) {
    costs_.pop_back();
    tables_.pop_back();
  }
  return place == 0;
}

std::vector<Timetable> BestK::Take() {
  constexpr uint64_t kHundredths = 1;  // worse
  while (costs_.size() > 1 &&
         costs_.back().goal > costs_.front().goal + costs_.front().goal / 100 * kHundredths) {
    costs_.pop_back();
    tables_.pop_back();
  }
  return std::move(tables_);
}

namespace {

void SearchAll(const Tasks& tasks, const KnownOrders& known, Goal goal, uint32_t effort,
               BestK& best) {
  EffortBudget budget(effort);
  SearchRules(tasks, goal, budget, best);
  if (!best.perfect()) SearchOrders(tasks, goal, budget, best);
  if (best.perfect()) return;
  const Cost found = best.cost();
  EffortBudget more(std::max(1u, effort / 8));
  TryKnownOrders(tasks, known, goal, more, best);
  if (best.cost() < found && !best.perfect()) SearchOrders(tasks, goal, more, best);
}

}  // namespace

std::vector<Timetable> KnownTables(const Tasks& tasks, const KnownOrders& known) {
  BestK all({.goal = 0, .other = 0}, BestK::kMost);
  EffortBudget budget(1);
  TryKnownOrders(tasks, known, Goal::kMakespan, budget, all);
  return all.TakeAll();
}

std::vector<Timetable> Search(const Tasks& tasks, const SearchOptions& options,
                              const KnownOrders& known) {
  BestK best(LeastCost(tasks, options.goal), tasks.memories.empty() ? 1 : BestK::kMost);
  if (tasks.fallback.empty()) {
    SearchAll(tasks, known, options.goal, options.effort, best);
    return best.Take();
  }
  // Checking that a completion fits takes several times as long as placing a task. So schedules are
  // first made without that check, and are given up when they get stuck; then fewer are made with
  // it, the more where all got stuck.
  Tasks unchecked = tasks;
  unchecked.fallback.clear();
  SearchAll(unchecked, known, options.goal, options.effort, best);
  const uint32_t share = best.empty() ? 8 : 32;
  if (!best.perfect()) {
    SearchAll(tasks, known, options.goal, std::max(1u, options.effort / share), best);
  }
  return best.Take();
}

}  // namespace cgraph::schedule
