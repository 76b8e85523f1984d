#include "compiler/schedule/ordering/tasks/tasks.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace cgraph::schedule {
namespace {

// Returns by task the longest path to its end, over the edges of `before` and, in the other
// direction, `after`.
std::vector<uint64_t> LongestPaths(const Tasks& tasks, const Lists& before, const Lists& after) {
  std::vector<uint64_t> paths(tasks.durations);
  std::vector<uint32_t> open(tasks.size()), done;  // how many before it are not done
  for (uint32_t task = 0; task < tasks.size(); ++task) {
    open[task] = static_cast<uint32_t>(before[task].size());
    if (open[task] == 0) done.push_back(task);
  }
  while (!done.empty()) {
    const uint32_t task = done.back();
    done.pop_back();
    for (uint32_t next : after[task]) {
      paths[next] = std::max(paths[next], tasks.durations[next] + paths[task]);
      if (--open[next] == 0) done.push_back(next);
    }
  }
  return paths;
}

}  // namespace

// A task takes few blocks, so its needs are summed up again for each memory.
bool Tasks::Fits(uint32_t task, std::span<const int64_t> free) const {
  const std::span<const uint32_t> taken = takes[task];
  return std::all_of(taken.begin(), taken.end(), [&](uint32_t one) {
    const uint32_t memory = blocks[one].memory;
    int64_t needed = 0;
    for (uint32_t block : taken) {
      if (blocks[block].memory == memory) needed += blocks[block].bytes;
    }
    return needed <= free[memory];
  });
}

std::vector<uint64_t> RemainingPaths(const Tasks& tasks) {
  return LongestPaths(tasks, tasks.successors, tasks.predecessors);
}

std::vector<uint64_t> ElapsedPaths(const Tasks& tasks) {
  return LongestPaths(tasks, tasks.predecessors, tasks.successors);
}

std::vector<uint32_t> RankTasks(const Tasks& tasks, std::span<const uint32_t> classes,
                                const std::vector<std::vector<int64_t>>& keys) {
  const std::vector<uint64_t> paths = RemainingPaths(tasks);
  const auto key = [&](uint32_t task, size_t i) {
    return i < keys[task].size() ? keys[task][i] : int64_t{0};
  };
  std::vector<uint32_t> sorted(tasks.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  // An action that is open goes on before another opens, the older one first.
  const auto turn = [&](uint32_t task) {
    const bool goes_on = tasks.opener[task] != task;
    return std::pair(classes[task] == 0 ? 0 : goes_on ? 1 : 2, goes_on ? tasks.opener[task] : 0);
  };
  std::sort(sorted.begin(), sorted.end(), [&](uint32_t a, uint32_t b) {
    if (turn(a) != turn(b)) return turn(a) < turn(b);
    if (classes[a] != classes[b]) return classes[a] < classes[b];
    for (size_t i = 0; i < std::max(keys[a].size(), keys[b].size()); ++i) {
      if (key(a, i) != key(b, i)) return key(a, i) < key(b, i);
    }
    return paths[a] != paths[b] ? paths[a] > paths[b] : a < b;
  });
  std::vector<uint32_t> ranks(tasks.size());
  for (uint32_t rank = 0; rank < sorted.size(); ++rank) ranks[sorted[rank]] = rank;
  return ranks;
}

}  // namespace cgraph::schedule
