#include "compiler/schedule/arrange/search.h"

#include <algorithm>
#include <numeric>

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

Timetable Search(const Tasks& tasks, const SearchOptions& options) {
  Budget budget(options.effort);
  Found best;
  SearchRules(tasks, options.goal, budget, best);
  SearchOrders(tasks, options.goal, budget, best);
  return std::move(best.table);
}

}  // namespace cgraph::schedule
