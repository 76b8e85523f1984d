#include "compiler/schedule/ordering/list/list_schedule.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "compiler/schedule/ordering/list/memory_budget.h"
#include "compiler/schedule/ordering/list/state.h"

namespace cgraph::schedule {
namespace {

// The most tasks that are tried of a queue whose first has no room.
constexpr size_t kMostTried = 16;

// The least at the top.
template <typename T>
using Heap = std::priority_queue<T, std::vector<T>, std::greater<T>>;

struct Completion {
  uint64_t time;
  uint32_t task;
  auto operator<=>(const Completion&) const = default;
};

class ListScheduler {
 public:
  ListScheduler(const Tasks& tasks, const Policy& policy)
      : tasks_(tasks),
        policy_(policy),
        readiness_(tasks, policy),
        holdings_(tasks),
        by_rank_(tasks.size()),
        queues_of_(tasks.lanes),
        ready_(tasks.queues.size()),
        busy_(tasks.lanes, 0),
        touched_(tasks.lanes, 0),
        budget_(tasks, holdings_),
        started_(budget_.limited() ? tasks.size() : 0, false) {
    table_.starts.assign(tasks.size(), 0);
    table_.order.reserve(tasks.size());
    for (uint32_t task = 0; task < tasks.size(); ++task) {
      by_rank_[policy.ranks[task]] = task;
      has_instants_ |= tasks.durations[task] == 0;
    }
    for (uint32_t i = 0; i < tasks.queues.size(); ++i) {
      for (uint32_t lane : tasks.queues[i].lanes) queues_of_[lane].push_back(i);
    }
  }

  Timetable Run() {
    for (uint32_t task = 0; task < tasks_.size(); ++task) {
      if (readiness_.IsReady(task)) BecomeReady(task);
    }
    StartAll();
    while (!running_.empty() || StartShort()) {
      if (running_.empty()) continue;
      now_ = running_.top().time;
      if (!releases_.empty()) now_ = std::min(now_, releases_.top().time);
      Release();
      CompleteDue();
      StartAll();
    }
    table_.makespan = now_;
    return std::move(table_);
  }

 private:
  const Queue& QueueOf(uint32_t task) const { return tasks_.queues[tasks_.queue[task]]; }

  void Touch(uint32_t lane) {
    if (touched_[lane]) return;
    touched_[lane] = true;
    touched_lanes_.push_back(lane);
  }

  void CompleteDue() {
    while (!running_.empty() && running_.top().time == now_) {
      const uint32_t task = running_.top().task;
      running_.pop();
      Complete(task);
    }
  }

  // A task that waits for a shared resource may be on any lane.
  void Release() {
    for (; !releases_.empty() && releases_.top().time == now_; releases_.pop()) {
      holdings_.GiveTokens(releases_.top().task);
      for (uint32_t lane : short_of_tokens_) Touch(lane);
      short_of_tokens_.clear();
    }
  }

  void BecomeReady(uint32_t task) {
    const uint32_t queue = tasks_.queue[task];
    if (!readiness_.HasSequence(queue)) ready_[queue].push(policy_.ranks[task]);
    for (uint32_t lane : QueueOf(task).lanes) Touch(lane);
  }

  void Complete(uint32_t task) {
    for (uint32_t lane : QueueOf(task).lanes) {
      busy_[lane] = false;
      Touch(lane);
    }
    readiness_.End(task, [this](uint32_t next) { BecomeReady(next); });
    holdings_.GiveMemory(task);
    // A task that waits for memory may be on any lane.
    for (uint32_t lane : short_of_memory_) Touch(lane);
    short_of_memory_.clear();
  }

  // Starts everything that is free now and could start. Tasks that take no time are over before
  // anything else starts, so that all tasks that could be ready at this moment are.
  void StartAll() {
    while (has_instants_ && StartInstants()) CompleteDue();

    std::sort(touched_lanes_.begin(), touched_lanes_.end());
    for (uint32_t lane : touched_lanes_) {
      touched_[lane] = false;
      if (!busy_[lane]) StartOn(lane);
    }
    touched_lanes_.clear();
  }

  // Lets lower limits give way when memory is all that is left to wait for. Returns whether that
  // helped.
  bool StartShort() {
    if (short_of_memory_.empty()) return false;
    const size_t started = table_.order.size();
    gives_way_ = true;
    for (uint32_t lane = 0; lane < tasks_.lanes; ++lane) Touch(lane);
    short_of_memory_.clear();
    StartAll();
    gives_way_ = false;
    return table_.order.size() > started;
  }

  // Returns whether a task that takes no time has started.
  bool StartInstants() {
    const size_t started = table_.order.size();
    std::sort(touched_lanes_.begin(), touched_lanes_.end());
    for (uint32_t lane : touched_lanes_) {
      if (!busy_[lane]) StartOn(lane, /*instants=*/true);
    }
    return table_.order.size() > started;
  }

  void StartOn(uint32_t lane, bool instants = false) {
    // Where some task has no room, lower limits hold nothing back.
    bool is_short = false;
    std::vector<uint32_t>& held = held_queues_;
    held.clear();
    uint32_t best = kNone;  // rank
    for (uint32_t queue : queues_of_[lane]) {
      if (!IsReady(queue)) continue;
      if (readiness_.HeldBack(tasks_.queues[queue], gives_way_)) {
        held.push_back(queue);
      } else if (const uint32_t task = First(queue); task == kNone) {
        is_short = true;
      } else {
        best = std::min(best, RankNow(task, lane));
      }
    }
    if (is_short) {
      short_of_memory_.push_back(lane);
      for (uint32_t queue : held) {
        if (readiness_.HeldBack(tasks_.queues[queue], /*short_of_memory=*/true)) continue;
        if (const uint32_t task = First(queue); task != kNone) {
          best = std::min(best, RankNow(task, lane));
        }
      }
    }
    if (best == kNone || (instants && tasks_.durations[by_rank_[best]] > 0)) return;
    Start(by_rank_[best]);
  }
  // Returns kNone while a resource of the task is in use.
  uint32_t RankNow(uint32_t task, uint32_t lane) {
    if (holdings_.HasTokens(task)) return policy_.ranks[task];
    short_of_tokens_.push_back(lane);
    return kNone;
  }

  // Returns whether the lanes of a queue are free and some task of it is ready.
  bool IsReady(uint32_t index) {
    for (uint32_t lane : tasks_.queues[index].lanes) {
      if (busy_[lane]) return false;
    }
    if (!readiness_.HasSequence(index)) {
      Heap<uint32_t>& ready = ready_[index];
      while (!ready.empty() && HasStarted(by_rank_[ready.top()])) ready.pop();
      return !ready.empty();
    }
    const uint32_t head = readiness_.HeadOf(index);
    return head != kNone && tasks_.queue[head] == index && readiness_.IsReady(head);
  }

  // Returns the first task of a ready queue that has room. Of those behind it, a few are tried, and
  // the one with which the remaining tasks could go on in any case.
  uint32_t First(uint32_t index) {
    if (readiness_.HasSequence(index)) {
      const uint32_t task = readiness_.HeadOf(index);
      return budget_.Has(task) ? task : kNone;
    }
    Heap<uint32_t>& ready = ready_[index];
    const uint32_t top = by_rank_[ready.top()];
    if (budget_.Has(top)) return top;
    std::vector<uint32_t> tried;
    uint32_t found = kNone;
    while (!ready.empty() && found == kNone && tried.size() < kMostTried) {
      const uint32_t task = by_rank_[ready.top()];
      tried.push_back(ready.top());
      ready.pop();
      if (!HasStarted(task) && budget_.Has(task)) found = task;
    }
    for (uint32_t rank : tried) ready.push(rank);
    const uint32_t next = budget_.next();
    if (found != kNone || next == kNone || tasks_.queue[next] != index) return found;
    return readiness_.IsReady(next) && budget_.Has(next) ? next : kNone;
  }
  bool HasStarted(uint32_t task) const { return budget_.limited() && started_[task]; }

  void Start(uint32_t task) {
    const uint32_t index = tasks_.queue[task];
    const Queue& queue = tasks_.queues[index];
    if (budget_.limited()) {
      started_[task] = true;  // and leaves the queue once it stands first
    } else if (!readiness_.HasSequence(index)) {
      ready_[index].pop();
    }
    readiness_.Start(task);
    holdings_.TakeMemory(task);
    budget_.Start(task);
    for (uint32_t lane : queue.lanes) busy_[lane] = true;
    if (holdings_.TakeTokens(task)) releases_.push({now_ + tasks_.held[task], task});
    table_.starts[task] = now_;
    table_.order.push_back(task);
    running_.push({now_ + tasks_.durations[task], task});
  }

  const Tasks& tasks_;
  const Policy& policy_;
  Readiness readiness_;
  Holdings holdings_;
  std::vector<uint32_t> by_rank_;      // tasks
  std::vector<std::vector<uint32_t>> queues_of_;  // by lane
  std::vector<Heap<uint32_t>> ready_;             // by queue: ranks
  std::vector<char> busy_, touched_;              // by lane
  std::vector<uint32_t> touched_lanes_, short_of_memory_, short_of_tokens_;
  std::vector<uint32_t> held_queues_;             // of the lane that is looked at
  MemoryBudget budget_;
  std::vector<char> started_;     // by task, with memories only
  bool gives_way_ = false;        // lower limits do
  Heap<Completion> running_;
  Heap<Completion> releases_;  // of what is held, which is no longer than the task runs
  uint64_t now_ = 0;
  bool has_instants_ = false;  // tasks that take no time
  Timetable table_;
};

}  // namespace

Timetable ListSchedule(const Tasks& tasks, const Policy& policy) {
  return ListScheduler(tasks, policy).Run();
}

}  // namespace cgraph::schedule
