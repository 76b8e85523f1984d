// The state of a schedule in the making, of which each generation scheme uses what it needs: a
// parallel one, which goes on in time (list_schedule.h), a serial one, which takes tasks in an
// order (search/serial_scheduler.h), and one that goes back (the
// fallback there).
#ifndef CGRAPH_COMPILER_SCHEDULE_ORDERING_LIST_STATE_H_
#define CGRAPH_COMPILER_SCHEDULE_ORDERING_LIST_STATE_H_

#include <algorithm>
#include <vector>

#include "compiler/cost/tokens.h"
#include "compiler/schedule/ordering/list/start_counts.h"
#include "compiler/schedule/ordering/tasks/tasks.h"

namespace cgraph::schedule {

// Readiness: what may start by the dependencies and the policy: tasks whose predecessors are done,
// of a sequence the next one, and none that a limit holds back. Every step can be taken back.
class Readiness {
 public:
  Readiness(const Tasks& tasks, const Policy& policy)
      : tasks_(tasks), policy_(policy), open_(tasks.size()), next_(policy.sequences.size(), 0),
        counts_(tasks) {
    for (uint32_t task = 0; task < tasks.size(); ++task) {
      open_[task] = static_cast<uint32_t>(tasks.predecessors[task].size());
    }
  }

  // Returns whether all that the task needs is done.
  bool IsReady(uint32_t task) const { return open_[task] == 0; }

  bool HasSequence(uint32_t queue) const { return SequenceOf(queue) != kNone; }
  // Returns the task that the queue's sequence puts next, which may stand in another queue; kNone:
  // it is over.
  uint32_t HeadOf(uint32_t queue) const {
    const std::vector<uint32_t>& sequence = policy_.sequences[SequenceOf(queue)];
    const size_t next = next_[SequenceOf(queue)];
    return next < sequence.size() ? sequence[next] : kNone;
  }

  // Returns whether a limit holds the queue back; lower ones give way where memory is short.
  bool HeldBack(const Queue& queue, bool short_of_memory) const {
    if (queue.kinds.empty() || policy_.limits.empty()) return false;
    const std::vector<LaneLimit>& limits = policy_.limits[queue.lanes[0]];
    return std::any_of(limits.begin(), limits.end(), [&](const LaneLimit& limit) {
      return (limit.at_most || !short_of_memory) && counts_.HoldsBack(limit, queue);
    });
  }

  void Start(uint32_t task) {
    counts_.Start(tasks_.queues[tasks_.queue[task]]);
    if (const uint32_t sequence = SequenceOf(tasks_.queue[task]); sequence != kNone) {
      ++next_[sequence];
    }
  }
  // Ends a task; calls visit(task) for each that is ready now.
  template <typename Visit>
  void End(uint32_t task, Visit visit) {
    for (uint32_t next : tasks_.successors[task]) {
      if (--open_[next] == 0) visit(next);
    }
  }
  // Undoes Start and End.
  void TakeBack(uint32_t task) {
    for (uint32_t next : tasks_.successors[task]) ++open_[next];
    if (const uint32_t sequence = SequenceOf(tasks_.queue[task]); sequence != kNone) {
      --next_[sequence];
    }
    counts_.TakeBack(tasks_.queues[tasks_.queue[task]]);
  }

 private:
  uint32_t SequenceOf(uint32_t queue) const {
    return policy_.sequence_of.empty() ? kNone : policy_.sequence_of[queue];
  }

  const Tasks& tasks_;
  const Policy& policy_;
  std::vector<uint32_t> open_;  // by task: predecessors that have not ended
  std::vector<size_t> next_;    // by sequence: how many have started
  StartCounts counts_;
};

// Holdings: what tasks hold of memories and of shared resources.
class Holdings {
 public:
  // Holdings where nothing has started.
  explicit Holdings(const Tasks& tasks) : tasks_(tasks), all_users_(tasks.blocks.size(), 0) {
    for (uint32_t task = 0; task < tasks.size() && !tasks.memories.empty(); ++task) {
      for (uint32_t block : tasks.touches[task]) ++all_users_[block];
    }
    Reset();
  }
  void Reset() {
    users_ = all_users_;
    free_ = tasks_.memories;
    tokens_ = tasks_.tokens;
  }

  int64_t free(uint32_t memory) const { return free_[memory]; }
  // Returns how many tasks touch the block and have not ended.
  uint32_t users(uint32_t block) const { return users_[block]; }

  bool HasMemory(uint32_t task) const {
    return tasks_.memories.empty() || tasks_.Fits(task, free_);
  }
  bool HasTokens(uint32_t task) const {
    return tokens_.empty() || cost::HasTokens(tasks_.holds[task], tokens_);
  }

  // Change memory at a task's start and at its end; the others undo that.
  void TakeMemory(uint32_t task) { AddTaken(task, -1); }
  void GiveMemory(uint32_t task) {
    if (tasks_.memories.empty()) return;
    for (uint32_t block : tasks_.touches[task]) {
      if (--users_[block] == 0) free_[tasks_.blocks[block].memory] += tasks_.blocks[block].bytes;
    }
  }
  void TakeBackMemory(uint32_t task) {
    if (tasks_.memories.empty()) return;
    for (uint32_t block : tasks_.touches[task]) {
      if (users_[block]++ == 0) free_[tasks_.blocks[block].memory] -= tasks_.blocks[block].bytes;
    }
    AddTaken(task, 1);
  }

  // Returns whether the task holds any tokens, which are then to be given back.
  bool TakeTokens(uint32_t task) {
    if (tokens_.empty() || tasks_.holds[task].empty()) return false;
    for (uint32_t resource : tasks_.holds[task]) --tokens_[resource];
    return true;
  }
  void GiveTokens(uint32_t task) {
    for (uint32_t resource : tasks_.holds[task]) ++tokens_[resource];
  }

 private:
  void AddTaken(uint32_t task, int sign) {
    if (tasks_.memories.empty()) return;
    for (uint32_t block : tasks_.takes[task]) {
      free_[tasks_.blocks[block].memory] += sign * tasks_.blocks[block].bytes;
    }
  }

  const Tasks& tasks_;
  std::vector<uint32_t> all_users_, users_;  // by block
  std::vector<int64_t> free_;                // by memory: bytes
  std::vector<uint32_t> tokens_;             // by resource: how many are left
};

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_ORDERING_LIST_STATE_H_
