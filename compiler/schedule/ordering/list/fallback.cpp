#include "compiler/schedule/ordering/list/list_schedule.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_set>

#include "compiler/schedule/ordering/list/state.h"

namespace cgraph::schedule {
namespace {

// With at most this many tasks all orders are looked through, as far as a number of steps goes.
constexpr uint32_t kMostSearched = 500;
constexpr int64_t kMostSteps = 50'000;

// Progress: tasks one after the other: which may be next, and what is alive.
class Progress {
 public:
  Progress(const Tasks& tasks, const Policy& policy)
      : tasks_(tasks), readiness_(tasks, policy), holdings_(tasks), done_(tasks.size(), false) {}

  bool IsReady(uint32_t task) const { return !done_[task] && readiness_.IsReady(task); }
  const std::vector<bool>& done() const { return done_; }
  uint32_t HeadOf(uint32_t queue) const { return readiness_.HeadOf(queue); }
  bool HasSequence(uint32_t queue) const { return readiness_.HasSequence(queue); }

  // Returns whether a task may run. Lower limits do not count: they give way where memory is short.
  bool MayRun(uint32_t task) const {
    const uint32_t queue = tasks_.queue[task];
    if (HasSequence(queue) && HeadOf(queue) != task) return false;
    return !readiness_.HeldBack(tasks_.queues[queue], /*short_of_memory=*/true);
  }

  // Returns how many bytes more are alive after the task than before.
  int64_t Growth(uint32_t task) const {
    int64_t growth = 0;
    for (uint32_t block : tasks_.takes[task]) growth += tasks_.blocks[block].bytes;
    for (uint32_t block : tasks_.touches[task]) {
      if (holdings_.users(block) == 1) growth -= tasks_.blocks[block].bytes;
    }
    return growth;
  }

  // Runs a task. `during`: by memory, is raised to what is alive while the task runs.
  void Do(uint32_t task, std::vector<int64_t>& during) {
    holdings_.TakeMemory(task);
    for (uint32_t block : tasks_.takes[task]) {
      const uint32_t memory = tasks_.blocks[block].memory;
      during[memory] = std::max(during[memory], tasks_.memories[memory] - holdings_.free(memory));
    }
    holdings_.GiveMemory(task);
    readiness_.Start(task);
    readiness_.End(task, [](uint32_t) {});
    done_[task] = true;
  }
  void Undo(uint32_t task) {
    done_[task] = false;
    readiness_.TakeBack(task);
    holdings_.TakeBackMemory(task);
  }

 private:
  const Tasks& tasks_;
  Readiness readiness_;
  Holdings holdings_;
  std::vector<bool> done_;
};

bool Fits(const std::vector<int64_t>& needs, const std::vector<int64_t>& memories) {
  for (size_t i = 0; i < needs.size(); ++i) {
    if (needs[i] > memories[i]) return false;
  }
  return true;
}

int64_t Excess(const std::vector<int64_t>& needs, const std::vector<int64_t>& memories) {
  int64_t excess = 0;
  for (size_t i = 0; i < needs.size(); ++i) excess += std::max<int64_t>(0, needs[i] - memories[i]);
  return excess;
}

// Heuristic: which of several possible tasks comes next.
enum class Heuristic {
  kProgram,  // the first of the program
  kUsedUp,   // what became ready last
  kLeast,    // what grows least
};

// GreedyOrder: one order, without looking back. It is shorter than the tasks where the policy does
// not let it end.
class GreedyOrder {
 public:
  GreedyOrder(const Tasks& tasks, const Policy& policy, Heuristic heuristic)
      : tasks_(tasks),
        heuristic_(heuristic),
        progress_(tasks, policy),
        ready_(tasks.queues.size()) {}

  Fallback Run() {
    Fallback found;
    found.needs.assign(tasks_.memories.size(), 0);
    for (uint32_t task = 0; task < tasks_.size(); ++task) {
      if (progress_.IsReady(task)) Push(task);
    }
    for (uint32_t task = Next(); task != kNone; task = Next()) {
      progress_.Do(task, found.needs);
      found.order.push_back(task);
      for (uint32_t next : tasks_.successors[task]) {
        if (progress_.IsReady(next)) Push(next);
      }
    }
    return found;
  }

 private:
  using Entry = std::pair<int64_t, uint32_t>;  // key, task: the least first
  using Heap = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;

  void Push(uint32_t task) {
    const int64_t key = heuristic_ == Heuristic::kUsedUp ? -++pushed_ : int64_t{task};
    ready_[tasks_.queue[task]].emplace(key, task);
  }

  // Returns the next task. Whatever holds back one task of a queue holds back all, so only the
  // first is looked at.
  uint32_t Next() {
    Entry best{INT64_MAX, kNone};
    for (uint32_t queue = 0; queue < ready_.size(); ++queue) {
      const Entry first = FirstOf(queue);
      if (first.second == kNone || !progress_.MayRun(first.second)) continue;
      const int64_t key =
          heuristic_ == Heuristic::kLeast ? progress_.Growth(first.second) : first.first;
      best = std::min(best, Entry(key, first.second));
    }
    return best.second;
  }
  Entry FirstOf(uint32_t queue) {
    if (progress_.HasSequence(queue)) {
      const uint32_t head = progress_.HeadOf(queue);
      const bool here = head != kNone && tasks_.queue[head] == queue && progress_.IsReady(head);
      return {int64_t{head}, here ? head : kNone};
    }
    Heap& heap = ready_[queue];
    while (!heap.empty() && !progress_.IsReady(heap.top().second)) heap.pop();
    return heap.empty() ? Entry(0, kNone) : heap.top();
  }

  const Tasks& tasks_;
  const Heuristic heuristic_;
  Progress progress_;
  std::vector<Heap> ready_;  // by queue; what is done is left in it
  int64_t pushed_ = 0;
};

// BacktrackingOrder: looks for an order that fits, going back where it comes to an end.
class BacktrackingOrder {
 public:
  BacktrackingOrder(const Tasks& tasks, const Policy& policy)
      : tasks_(tasks), progress_(tasks, policy) {}

  // Returns the order; empty: there is none, or the effort is over.
  Fallback Run() {
    Fallback found;
    if (Extend(std::vector<int64_t>(tasks_.memories.size(), 0))) {
      found.order = std::move(order_);
      found.needs = std::move(needs_);
    }
    return found;
  }

 private:
  bool Extend(const std::vector<int64_t>& needs) {
    if (order_.size() == tasks_.size()) {
      needs_ = needs;
      return true;
    }
    if (--steps_ < 0 || !seen_.insert(progress_.done()).second) return false;
    std::vector<std::pair<int64_t, uint32_t>> next;
    for (uint32_t task = 0; task < tasks_.size(); ++task) {
      if (!progress_.IsReady(task) || !progress_.MayRun(task)) continue;
      next.emplace_back(progress_.Growth(task), task);
    }
    std::sort(next.begin(), next.end());
    for (const auto& [growth, task] : next) {
      std::vector<int64_t> during = needs;
      progress_.Do(task, during);
      if (Fits(during, tasks_.memories)) {
        order_.push_back(task);
        if (Extend(during)) return true;
        order_.pop_back();
      }
      progress_.Undo(task);
    }
    return false;
  }

  const Tasks& tasks_;
  Progress progress_;
  std::vector<uint32_t> order_;
  std::vector<int64_t> needs_;
  std::unordered_set<std::vector<bool>> seen_;
  int64_t steps_ = kMostSteps;
};

}  // namespace

Fallback FindFallback(const Tasks& tasks, const Policy& policy) {
  Fallback best;
  for (const Heuristic heuristic : {Heuristic::kProgram, Heuristic::kUsedUp, Heuristic::kLeast}) {
    Fallback found = GreedyOrder(tasks, policy, heuristic).Run();
    if (found.order.size() < tasks.size()) continue;
    const bool better = best.order.empty() || Excess(found.needs, tasks.memories) <
                                                  Excess(best.needs, tasks.memories);
    if (better) best = std::move(found);
    if (Fits(best.needs, tasks.memories)) return best;
  }
  if (tasks.size() > kMostSearched) return best;
  Fallback found = BacktrackingOrder(tasks, policy).Run();
  return found.order.empty() ? best : found;
}

}  // namespace cgraph::schedule
