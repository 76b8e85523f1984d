#include <algorithm>
#include <functional>
#include <queue>

#include "compiler/schedule/tasks.h"

namespace cgraph::schedule {
namespace {

// The least at the top.
template <typename T>
using Heap = std::priority_queue<T, std::vector<T>, std::greater<T>>;

constexpr uint32_t kNothing = UINT32_MAX;  // more than any rank

struct Completion {
  uint64_t time;
  uint32_t task;
  auto operator<=>(const Completion&) const = default;
};

class Walk {
 public:
  Walk(const Tasks& tasks, std::span<const uint32_t> ranks) : tasks_(tasks), ranks_(ranks) {
    const size_t lanes = tasks.limits.size();
    busy_.assign(lanes, false);
    touched_.assign(lanes, false);
    queues_of_.resize(lanes);
    started_.assign(lanes * tasks.kinds, 0);
    remaining_.assign(lanes * tasks.kinds, 0);
    ready_.resize(tasks.queues.size());
    next_.assign(tasks.queues.size(), 0);
    by_rank_.resize(tasks.size());
    table_.starts.assign(tasks.size(), 0);
    for (uint32_t task = 0; task < tasks.size(); ++task) {
      by_rank_[ranks[task]] = task;
      waiting_for_.push_back(static_cast<uint32_t>(tasks.predecessors[task].size()));
      for (uint32_t kind : QueueOf(task).kinds) ++remaining_[Count(QueueOf(task), kind)];
    }
    for (uint32_t i = 0; i < tasks.queues.size(); ++i) {
      for (uint32_t lane : tasks.queues[i].lanes) queues_of_[lane].push_back(i);
    }
  }

  Timetable Run() {
    for (uint32_t task = 0; task < tasks_.size(); ++task) {
      if (waiting_for_[task] == 0) BecomeReady(task);
    }
    StartAll();
    while (!running_.empty()) {
      now_ = running_.top().time;
      while (!running_.empty() && running_.top().time == now_) {
        const uint32_t task = running_.top().task;
        running_.pop();
        Complete(task);
      }
      StartAll();
    }
    table_.makespan = now_;
    return std::move(table_);
  }

 private:
  const Queue& QueueOf(uint32_t task) const { return tasks_.queues[tasks_.queue[task]]; }
  // Where calls of the queue's kind are counted: they have one lane.
  size_t Count(const Queue& queue, uint32_t kind) const {
    return queue.lanes[0] * tasks_.kinds + kind;
  }

  void Touch(const Queue& queue) {
    for (uint32_t lane : queue.lanes) {
      if (touched_[lane]) continue;
      touched_[lane] = true;
      touched_lanes_.push_back(lane);
    }
  }

  void BecomeReady(uint32_t task) {
    if (!QueueOf(task).strict()) ready_[tasks_.queue[task]].push(ranks_[task]);
    Touch(QueueOf(task));
  }

  void Complete(uint32_t task) {
    for (uint32_t lane : QueueOf(task).lanes) busy_[lane] = false;
    Touch(QueueOf(task));
    for (uint32_t next : tasks_.successors[task]) {
      if (--waiting_for_[next] == 0) BecomeReady(next);
    }
  }

  // What is free now and could start.
  void StartAll() {
    std::sort(touched_lanes_.begin(), touched_lanes_.end());
    for (uint32_t lane : touched_lanes_) {
      touched_[lane] = false;
      if (!busy_[lane]) StartOn(lane);
    }
    touched_lanes_.clear();
  }

  void StartOn(uint32_t lane) {
    uint32_t best = kNothing;
    for (uint32_t queue : queues_of_[lane]) best = std::min(best, Candidate(queue));
    if (best != kNothing) Start(by_rank_[best]);
  }

  // The rank of the queue's task that may start now, or kNothing.
  uint32_t Candidate(uint32_t index) const {
    const Queue& queue = tasks_.queues[index];
    const uint32_t rank = queue.strict() ? NextInSequence(queue, next_[index]) : Top(ready_[index]);
    const bool busy = std::any_of(queue.lanes.begin(), queue.lanes.end(),
                                  [&](uint32_t lane) { return busy_[lane]; });
    return rank == kNothing || busy || HeldBack(queue) ? kNothing : rank;
  }
  uint32_t NextInSequence(const Queue& queue, uint32_t next) const {
    if (next == queue.sequence.size() || waiting_for_[queue.sequence[next]] > 0) return kNothing;
    return ranks_[queue.sequence[next]];
  }
  static uint32_t Top(const Heap<uint32_t>& ready) {
    return ready.empty() ? kNothing : ready.top();
  }

  bool HeldBack(const Queue& queue) const {
    if (queue.kinds.empty()) return false;
    const auto count = [&](uint32_t kind) {
      return std::count(queue.kinds.begin(), queue.kinds.end(), kind);
    };
    for (const LaneLimit& limit : tasks_.limits[queue.lanes[0]]) {
      const int64_t change = count(limit.minuend) - count(limit.subtrahend);
      const int64_t difference = started_[Count(queue, limit.minuend)] -
                                 started_[Count(queue, limit.subtrahend)] + change;
      if (limit.at_most ? change > 0 && difference > limit.bound
                        : change < 0 && difference < limit.bound &&
                              remaining_[Count(queue, limit.minuend)] > 0) {
        return true;
      }
    }
    return false;
  }

  void Start(uint32_t task) {
    const uint32_t index = tasks_.queue[task];
    const Queue& queue = tasks_.queues[index];
    if (queue.strict()) {
      ++next_[index];
    } else {
      ready_[index].pop();
    }
    for (uint32_t lane : queue.lanes) busy_[lane] = true;
    for (uint32_t kind : queue.kinds) {
      ++started_[Count(queue, kind)];
      --remaining_[Count(queue, kind)];
    }
    table_.starts[task] = now_;
    table_.order.push_back(task);
    running_.push({now_ + tasks_.durations[task], task});
  }

  const Tasks& tasks_;
  const std::span<const uint32_t> ranks_;
  std::vector<uint32_t> by_rank_;      // tasks
  std::vector<uint32_t> waiting_for_;  // by task: predecessors that have not ended
  std::vector<std::vector<uint32_t>> queues_of_;  // by lane
  std::vector<Heap<uint32_t>> ready_;  // by queue: ranks
  std::vector<uint32_t> next_;         // by queue: how many have started
  std::vector<int64_t> started_, remaining_;  // by lane and kind
  std::vector<bool> busy_, touched_;   // by lane
  std::vector<uint32_t> touched_lanes_;
  Heap<Completion> running_;
  uint64_t now_ = 0;
  Timetable table_;
};

}  // namespace

Timetable ListSchedule(const Tasks& tasks, std::span<const uint32_t> ranks) {
  return Walk(tasks, ranks).Run();
}

std::vector<uint64_t> RemainingPaths(const Tasks& tasks) {
  std::vector<uint64_t> paths(tasks.size());
  for (uint32_t task = tasks.size(); task-- > 0;) {
    uint64_t longest = 0;
    for (uint32_t next : tasks.successors[task]) longest = std::max(longest, paths[next]);
    paths[task] = tasks.durations[task] + longest;
  }
  return paths;
}

}  // namespace cgraph::schedule
