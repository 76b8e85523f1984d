#include "compiler/schedule/ordering/serial/place_serially.h"

#include <algorithm>
#include <utility>

#include "compiler/cost/tokens.h"
#include "compiler/schedule/ordering/serial/timeline.h"

namespace cgraph::schedule {
namespace {

// Places tasks one after the other.
class Placer {
 public:
  Placer(const Tasks& tasks, const Policy& policy,
         const std::vector<LoopCarriedDependency>& carried, const Rounds& rounds)
      : tasks_(tasks),
        period_(rounds.period),
        end_(rounds.period * rounds.most),
        least_length_(rounds.least_length),
        starts_(tasks.size(), kNever),
        before_(tasks.size(), kNone),
        carried_of_(tasks.size()),
        lanes_(tasks.lanes, Timeline(rounds.period)) {
    for (const std::vector<uint32_t>& sequence : policy.sequences) {
      for (size_t i = 1; i < sequence.size(); ++i) before_[sequence[i]] = sequence[i - 1];
    }
    for (const LoopCarriedDependency& one : carried) {
      carried_of_[one.earlier].push_back(one);
      if (one.later != one.earlier) carried_of_[one.later].push_back(one);
    }
    for (uint32_t tokens : tasks.tokens) resources_.emplace_back(tokens, Timeline(rounds.period));
  }

  // Places tasks; all that come before a task stand before it in the order. Returns whether all
  // found a place.
  bool Place(const std::vector<uint32_t>& order) {
    return std::all_of(order.begin(), order.end(), [this](uint32_t task) { return Place(task); });
  }

  // Returns the timetable in the order of a round; tasks that start at one moment stand as in
  // `order`.
  Timetable Table(const std::vector<uint32_t>& order) const {
    Timetable table{.starts = starts_, .order = order, .makespan = period_};
    table.lags.resize(starts_.size());
    for (uint32_t task = 0; task < starts_.size(); ++task) {
      table.lags[task] = static_cast<uint32_t>(starts_[task] / period_);
      table.starts[task] = starts_[task] % period_;
    }
    std::stable_sort(table.order.begin(), table.order.end(), [&](uint32_t a, uint32_t b) {
      return table.starts[a] < table.starts[b];
    });
    return table;
  }

 private:
  bool Place(uint32_t task) {
    const uint64_t length = Length(task);
    const uint64_t start = Free(task, Earliest(task), length);
    if (start == kNever || start + length > end_ || !InTime(task, start + length)) return false;
    starts_[task] = start;
    for (uint32_t lane : LanesOf(task)) lanes_[lane].Take(start, length);
    ForEachHeld(task, [&](uint32_t resource, size_t count) {
      for (Timeline* token : FirstFree(resource, count, task, start)) {
        token->Take(start, HeldFor(task));
      }
    });
    return true;
  }

  uint64_t Length(uint32_t task) const { return LengthOf(tasks_, task, least_length_); }
  uint64_t EndOf(uint32_t task) const { return starts_[task] + Length(task); }

  uint64_t Earliest(uint32_t task) const {
    uint64_t earliest = before_[task] == kNone ? 0 : EndOf(before_[task]);
    for (uint32_t before : tasks_.predecessors[task]) earliest = std::max(earliest, EndOf(before));
    for (const LoopCarriedDependency& one : carried_of_[task]) {
      if (one.later != task || one.earlier == task || starts_[one.earlier] == kNever) continue;
      const uint64_t end = EndOf(one.earlier), later = one.executions * period_;
      if (end > later) earliest = std::max(earliest, end - later);
    }
    return earliest;
  }

  // Returns whether tasks that are placed already, and come in a later execution, find this task
  // done.
  bool InTime(uint32_t task, uint64_t end) const {
    const std::vector<LoopCarriedDependency>& carried = carried_of_[task];
    return std::all_of(carried.begin(), carried.end(), [&](const LoopCarriedDependency& one) {
      if (one.earlier != task) return true;
      const uint64_t start = one.later == task ? end - Length(task) : starts_[one.later];
      return start == kNever || end <= start + one.executions * period_;
    });
  }

  // Returns the first moment at which all lanes are free, and so are the tokens of each resource.
  uint64_t Free(uint32_t task, uint64_t time, uint64_t length) {
    while (true) {
      const uint64_t asked = time;
      for (uint32_t lane : LanesOf(task)) {
        if (time != kNever) time = lanes_[lane].Free(time, length);
      }
      ForEachHeld(task, [&](uint32_t resource, size_t count) {
        if (time == kNever) return;
        time = FirstFree(resource, count, task, time).back()->Free(time, HeldFor(task));
      });
      if (time == asked || time >= end_) return time;
    }
  }

  const std::vector<uint32_t>& LanesOf(uint32_t task) const {
    return tasks_.queues[tasks_.queue[task]].lanes;
  }
  // Calls `use` for each resource that the task holds, with how many tokens.
  template <typename Use>
  void ForEachHeld(uint32_t task, Use use) const {
    if (resources_.empty()) return;
    const std::span<const uint32_t> held = tasks_.holds[task];
    for (size_t i = 0; i < held.size();) {
      const size_t count = cost::RunLength(held, i);
      use(held[i], count);
      i += count;
    }
  }
  uint64_t HeldFor(uint32_t task) const { return tasks_.held[task]; }
  // Returns the tokens that are free first, the last of them last.
  std::vector<Timeline*> FirstFree(uint32_t resource, size_t count, uint32_t task, uint64_t time) {
    std::vector<std::pair<uint64_t, Timeline*>> free;
    for (Timeline& token : resources_[resource]) {
      free.emplace_back(token.Free(time, HeldFor(task)), &token);
    }
    std::partial_sort(free.begin(), free.begin() + count, free.end());
    std::vector<Timeline*> first;
    for (size_t i = 0; i < count; ++i) first.push_back(free[i].second);
    return first;
  }

  const Tasks& tasks_;
  const uint64_t period_, end_;   // every execution has ended then, if it began at 0
  const uint64_t least_length_;
  std::vector<uint64_t> starts_;  // by task, from the beginning of its execution
  std::vector<uint32_t> before_;  // by task: the one before it in its sequence
  std::vector<std::vector<LoopCarriedDependency>> carried_of_;  // by task, of either end
  std::vector<Timeline> lanes_;
  std::vector<std::vector<Timeline>> resources_;  // their tokens
};

}  // namespace

std::optional<Timetable> PlaceSerially(const Tasks& tasks, const Policy& policy,
                                       const std::vector<LoopCarriedDependency>& carried,
                                       const Rounds& rounds, const std::vector<uint32_t>& order) {
  Placer placer(tasks, policy, carried, rounds);
  if (!placer.Place(order)) return std::nullopt;
  return placer.Table(order);
}

}  // namespace cgraph::schedule
