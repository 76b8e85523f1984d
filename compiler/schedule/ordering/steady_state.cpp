#include "compiler/schedule/ordering/steady_state.h"

#include <algorithm>

#include "compiler/schedule/ordering/serial/place_serially.h"

namespace cgraph::schedule {
namespace {

constexpr uint32_t kMostLookedAt = 30'000;  // of larger graphs one execution's order is repeated
constexpr uint32_t kMostPeriods = 8;     // that are tried

// Returns a lower bound on the initiation interval.
uint64_t LeastPeriod(const Tasks& tasks, const std::vector<uint64_t>& paths, size_t inflight) {
  uint64_t longest = 0;
  std::vector<uint64_t> busy(tasks.lanes, 0), held(tasks.tokens.size(), 0);
  for (uint32_t task = 0; task < tasks.size(); ++task) {
    longest = std::max(longest, paths[task]);
    for (uint32_t lane : tasks.queues[tasks.queue[task]].lanes) busy[lane] += LengthOf(tasks, task);
    if (held.empty()) continue;
    for (uint32_t resource : tasks.holds[task]) held[resource] += tasks.held[task];
  }
  uint64_t least = (longest + inflight - 1) / inflight;
  for (uint64_t sum : busy) least = std::max(least, sum);
  for (size_t i = 0; i < held.size(); ++i) least = std::max(least, held[i] / tasks.tokens[i]);
  return least;
}

}  // namespace

uint64_t EndOfMany(const Tasks& tasks, const Timetable& table, size_t inflight, size_t executions) {
  std::vector<uint64_t> free_at(tasks.lanes, 0), ends(tasks.size()), last(executions, 0);
  for (size_t i = 0; i < executions; ++i) {
    const uint64_t begin = i < inflight ? 0 : last[i - inflight];
    for (uint32_t task : table.order) {
      const std::vector<uint32_t>& lanes = tasks.queues[tasks.queue[task]].lanes;
      uint64_t start = begin;
      for (uint32_t before : tasks.predecessors[task]) start = std::max(start, ends[before]);
      for (uint32_t lane : lanes) start = std::max(start, free_at[lane]);
      ends[task] = start + tasks.durations[task];
      for (uint32_t lane : lanes) free_at[lane] = ends[task];
      last[i] = std::max(last[i], ends[task]);
    }
  }
  return last.back();
}

// Returns (end(2n) - end(n)) / n, where end(k) is the end of the k-th simulated execution.
uint64_t IntervalOf(const Tasks& tasks, const Timetable& table, size_t inflight) {
  const size_t half = std::min(2 * inflight, size_t{32});
  return (EndOfMany(tasks, table, inflight, 2 * half) - EndOfMany(tasks, table, inflight, half)) /
         half;
}

std::optional<Timetable> FindSteadyState(const Tasks& tasks, const Policy& policy,
                                         const std::vector<LoopCarriedDependency>& carried,
                                         const Timetable& once, size_t inflight) {
  if (tasks.size() == 0 || tasks.size() > kMostLookedAt) return std::nullopt;
  // What carries over stays on its lane, in the order of executions.
  const uint64_t repeated = IntervalOf(tasks, once, inflight);
  const std::vector<uint64_t> paths = RemainingPaths(tasks);
  const uint64_t least = LeastPeriod(tasks, paths, inflight);
  // A gain below a hundredth is not worth it.
  const uint64_t most = repeated - repeated / 100;
  if (least >= most) return std::nullopt;

  std::vector<std::vector<uint32_t>> orders = {once.order};
  if (policy.sequences.empty()) {  // else it might not go on
    orders.push_back(once.order);
    std::stable_sort(orders[1].begin(), orders[1].end(),
                     [&](uint32_t a, uint32_t b) { return paths[a] > paths[b]; });
  }
  for (uint32_t i = 0; i < kMostPeriods; ++i) {
    const uint64_t period = least + (most - least) / kMostPeriods * i;
    for (const std::vector<uint32_t>& order : orders) {
      auto table = PlaceSerially(tasks, policy, carried, {period, inflight}, order);
      if (table) return table;
    }
  }
  return std::nullopt;
}

}  // namespace cgraph::schedule
