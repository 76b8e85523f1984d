// Tasks for tests of the list scheduler and of searches for orders.
#ifndef CGRAPH_TESTS_SUPPORT_MODULES_TASK_BUILDER_H_
#define CGRAPH_TESTS_SUPPORT_MODULES_TASK_BUILDER_H_

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "compiler/schedule/ordering/tasks/tasks.h"

namespace cgraph::schedule::testing {

// Tasks by hand: each holds the lanes of its queue, and follows others.
class TaskBuilder {
 public:
  uint32_t Queue(std::vector<uint32_t> lanes, std::vector<uint32_t> kinds = {}) {
    for (uint32_t lane : lanes) tasks_.lanes = std::max(tasks_.lanes, lane + 1);
    for (uint32_t kind : kinds) tasks_.kinds = std::max(tasks_.kinds, kind + 1);
    tasks_.queues.push_back({std::move(lanes), std::move(kinds)});
    return static_cast<uint32_t>(tasks_.queues.size() - 1);
  }
  uint32_t Memory(int64_t bytes) {
    tasks_.memories.push_back(bytes);
    return static_cast<uint32_t>(tasks_.memories.size() - 1);
  }
  uint32_t Task(uint32_t queue, uint64_t duration, std::vector<uint32_t> after = {}) {
    tasks_.queue.push_back(queue);
    tasks_.actor.push_back(kNone);
    tasks_.opener.push_back(static_cast<uint32_t>(before_.size()));
    tasks_.durations.push_back(duration);
    before_.push_back(std::move(after));
    takes_.emplace_back();
    touches_.emplace_back();
    return static_cast<uint32_t>(before_.size() - 1);
  }
  // Adds a block: `maker` takes the bytes, and they are given back when it and the users have
  // ended.
  void Block(uint32_t memory, int64_t bytes, uint32_t maker, std::vector<uint32_t> users) {
    const auto block = static_cast<uint32_t>(tasks_.blocks.size());
    tasks_.blocks.push_back({memory, bytes});
    takes_[maker].push_back(block);
    users.push_back(maker);
    for (uint32_t user : users) touches_[user].push_back(block);
  }
  Tasks Build() {
    std::vector<std::vector<uint32_t>> after(before_.size());
    for (uint32_t task = 0; task < before_.size(); ++task) {
      for (uint32_t earlier : before_[task]) after[earlier].push_back(task);
      tasks_.predecessors.Add(before_[task]);
      tasks_.takes.Add(takes_[task]);
      tasks_.touches.Add(touches_[task]);
    }
    for (const std::vector<uint32_t>& list : after) tasks_.successors.Add(list);
    return tasks_;
  }

 private:
  Tasks tasks_;
  std::vector<std::vector<uint32_t>> before_, takes_, touches_;
};

inline Policy ProgramOrder(const Tasks& tasks) {
  Policy policy;
  policy.ranks.resize(tasks.size());
  std::iota(policy.ranks.begin(), policy.ranks.end(), 0);
  return policy;
}

// Makes up to three devices with a compute lane each and, for each pair, a wire.
inline Tasks RandomTasks(uint32_t seed, uint32_t calls) {
  std::mt19937 random(seed);
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  TaskBuilder b;
  const uint32_t devices = 2 + below(2);
  std::vector<uint32_t> lanes;
  std::vector<std::vector<uint32_t>> wires(devices, std::vector<uint32_t>(devices));
  for (uint32_t i = 0; i < devices; ++i) lanes.push_back(b.Queue({i}, {0}));
  for (uint32_t i = 0; i < devices; ++i) {
    for (uint32_t j = 0; j < devices; ++j) {
      if (i != j) wires[i][j] = b.Queue({devices + i, 2 * devices + j});
    }
  }
  struct Call { uint32_t task, device; };
  std::vector<Call> made;
  for (uint32_t i = 0; i < calls; ++i) {
    const uint32_t device = below(devices);
    std::vector<uint32_t> after;
    for (const Call& call : made) {
      if (below(3) != 0) continue;
      const bool here = call.device == device;
      after.push_back(here ? call.task
                           : b.Task(wires[call.device][device], 1 + below(6), {call.task}));
    }
    made.push_back({b.Task(lanes[device], 1 + below(10), after), device});
  }
  return b.Build();
}

}  // namespace cgraph::schedule::testing

#endif  // CGRAPH_TESTS_SUPPORT_MODULES_TASK_BUILDER_H_
