#include "compiler/schedule/ordering/steady_state.h"

#include <algorithm>
#include <map>
#include <utility>

namespace cgraph::schedule {
namespace {

constexpr uint32_t kMostLookedAt = 30'000;  // of larger graphs one execution's order is repeated
constexpr uint32_t kMostPeriods = 8;     // that are tried
constexpr uint64_t kNever = UINT64_MAX;

// What takes no time stands at a moment of its own all the same, so that who needs whom can be told
// from when they start.
uint64_t LengthOf(const Tasks& tasks, uint32_t task) {
  return std::max<uint64_t>(tasks.durations[task], 1);
}

// What one lane, or one token of a resource, does in every round.
class Timeline {
 public:
  explicit Timeline(uint64_t period) : period_(period) {}

  // The first moment from `time` on from which it is free so long; kNever: none in any round.
  uint64_t Free(uint64_t time, uint64_t length) const {
    if (length > period_) return kNever;
    const uint64_t last = time + period_;
    while (time <= last) {
      const uint64_t wait = WaitAt(time % period_, length);
      if (wait == 0) return time;
      time += wait;
    }
    return kNever;
  }

  void Take(uint64_t time, uint64_t length) {
    if (length == 0) return;
    const uint64_t begin = time % period_, end = begin + length;
    TakePiece(begin, std::min(end, period_));
    if (end > period_) TakePiece(0, end - period_);
  }

 private:
  // From the moment `begin` of a round: until what is in the way has ended.
  uint64_t WaitAt(uint64_t begin, uint64_t length) const {
    const uint64_t end = begin + length;
    if (const uint64_t busy = BusyUntil(begin, std::min(end, period_))) return busy - begin;
    if (end <= period_) return 0;
    const uint64_t busy = BusyUntil(0, end - period_);
    return busy == 0 ? 0 : period_ - begin + busy;
  }

  // The end of the first piece that reaches into [begin, end), which lies in one round; 0: none.
  uint64_t BusyUntil(uint64_t begin, uint64_t end) const {
    auto piece = pieces_.upper_bound(begin);
    if (piece != pieces_.begin() && std::prev(piece)->second > begin) --piece;
    return piece != pieces_.end() && piece->first < end ? piece->second : 0;
  }

  // Pieces that touch become one, so that a lane without gaps is passed over in one step.
  void TakePiece(uint64_t begin, uint64_t end) {
    auto next = pieces_.lower_bound(begin);
    if (next != pieces_.end() && next->first == end) {
      end = next->second;
      next = pieces_.erase(next);
    }
    if (next != pieces_.begin() && std::prev(next)->second == begin) {
      std::prev(next)->second = end;
    } else {
      pieces_.emplace_hint(next, begin, end);
    }
  }

  const uint64_t period_;
  std::map<uint64_t, uint64_t> pieces_;  // begins and ends
};

// Places tasks one after the other.
class ModuloScheduler {
 public:
  ModuloScheduler(const Tasks& tasks, const Policy& policy,
                  const std::vector<LoopCarriedDependency>& carried, uint64_t period,
                  size_t inflight)
      : tasks_(tasks),
        period_(period),
        end_(period * inflight),
        starts_(tasks.size(), kNever),
        before_(tasks.size(), kNone),
        carried_of_(tasks.size()),
        lanes_(tasks.lanes, Timeline(period)) {
    for (const std::vector<uint32_t>& sequence : policy.sequences) {
      for (size_t i = 1; i < sequence.size(); ++i) before_[sequence[i]] = sequence[i - 1];
    }
    for (const LoopCarriedDependency& one : carried) {
      carried_of_[one.earlier].push_back(one);
      if (one.later != one.earlier) carried_of_[one.later].push_back(one);
    }
    for (uint32_t tokens : tasks.tokens) resources_.emplace_back(tokens, Timeline(period));
  }

  // Those before a task stand before it. Whether all found a place.
  bool Place(const std::vector<uint32_t>& order) {
    return std::all_of(order.begin(), order.end(), [this](uint32_t task) { return Place(task); });
  }

  // The order of a round; of what starts at one moment, as in `order`.
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
    const uint64_t length = LengthOf(tasks_, task);
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

  uint64_t EndOf(uint32_t task) const { return starts_[task] + LengthOf(tasks_, task); }

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

  // Whether what already has its place, and comes in a later execution, finds the task done.
  bool InTime(uint32_t task, uint64_t end) const {
    const std::vector<LoopCarriedDependency>& carried = carried_of_[task];
    return std::all_of(carried.begin(), carried.end(), [&](const LoopCarriedDependency& one) {
      if (one.earlier != task) return true;
      const uint64_t start = one.later == task ? end - LengthOf(tasks_, task) : starts_[one.later];
      return start == kNever || end <= start + one.executions * period_;
    });
  }

  // The first moment at which all lanes are free, and so are the tokens of each resource.
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
  // Of each resource that the task holds, how many tokens.
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
  // Those tokens that are free first, the last of them last.
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
  std::vector<uint64_t> starts_;  // by task, from the beginning of its execution
  std::vector<uint32_t> before_;  // by task: the one before it in its sequence
  std::vector<std::vector<LoopCarriedDependency>> carried_of_;  // by task, of either end
  std::vector<Timeline> lanes_;
  std::vector<std::vector<Timeline>> resources_;  // their tokens
};

// What no period goes below.
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

std::optional<Timetable> FindSteadyState(const Tasks& tasks, const Policy& policy,
                                         const std::vector<LoopCarriedDependency>& carried,
                                         const Timetable& once, size_t inflight) {
  if (tasks.size() == 0 || tasks.size() > kMostLookedAt) return std::nullopt;
  // By the second half of many executions; what carries over stays on its lane, in their order.
  const size_t half = std::min(2 * inflight, size_t{32});
  const uint64_t repeated = (EndOfMany(tasks, once, inflight, 2 * half) -
                             EndOfMany(tasks, once, inflight, half)) / half;
  const std::vector<uint64_t> paths = RemainingPaths(tasks);
  const uint64_t least = LeastPeriod(tasks, paths, inflight);
  // A hundredth is not worth it.
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
      ModuloScheduler placer(tasks, policy, carried, period, inflight);
      if (placer.Place(order)) return placer.Table(order);
    }
  }
  return std::nullopt;
}

}  // namespace cgraph::schedule
