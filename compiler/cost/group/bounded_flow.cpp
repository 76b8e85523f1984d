#include "compiler/cost/group/bounded_flow.h"

#include <algorithm>

#include "compiler/cost/group/least_cut.h"

namespace cgraph::cost {
namespace {

constexpr uint32_t kNotReached = UINT32_MAX;

}  // namespace

BoundedFlow::BoundedFlow(uint32_t nodes, const std::vector<Arc>& arcs, bool turned)
    : first_(nodes + 1, 0), ways_(2 * arcs.size()), joined_(nodes, false), direct_(nodes, 0),
      levels_(nodes), next_(nodes) {
  for (const Arc& arc : arcs) {
    ++first_[arc.from + 1];
    ++first_[arc.to + 1];
  }
  for (uint32_t node = 0; node < nodes; ++node) first_[node + 1] += first_[node];
  std::vector<uint32_t> free(first_.begin(), first_.end() - 1);
  for (const Arc& arc : arcs) {
    const uint32_t from = turned ? arc.to : arc.from, to = turned ? arc.from : arc.to;
    const uint32_t there = free[from]++, back = free[to]++;
    ways_[there] = {to, back, arc.capacity, arc.capacity};
    ways_[back] = {from, there, 0, 0};
  }
}

void BoundedFlow::Join(uint32_t node) {
  joined_[node] = true;
  set_.push_back(node);
  for (uint32_t i = first_[node]; i < first_[node + 1]; ++i) {
    direct_[ways_[i].to] += ways_[i].capacity;
  }
}

void BoundedFlow::Restore() {
  for (uint32_t way : changed_) ways_[way].left = ways_[way].capacity;
  changed_.clear();
}

uint64_t BoundedFlow::To(uint32_t target, uint64_t bound, uint64_t& steps) {
  uint64_t flow = direct_[target];
  for (uint32_t i = first_[target]; i < first_[target + 1] && flow < bound; ++i) {
    const Way& way = ways_[i];
    if (!joined_[way.to]) flow += std::min(direct_[way.to], ways_[way.back].capacity);
  }
  if (flow >= bound) return bound;
  flow = 0;
  while (flow < bound && FindLevels(target, steps)) {
    std::copy(first_.begin(), first_.end() - 1, next_.begin());
    for (uint32_t node : set_) {
      if (flow < bound) flow += Push(node, target, bound - flow, steps);
    }
  }
  Restore();
  return flow;
}

bool BoundedFlow::FindLevels(uint32_t target, uint64_t& steps) {
  std::fill(levels_.begin(), levels_.end(), kNotReached);
  for (uint32_t node : set_) levels_[node] = 0;
  std::vector<uint32_t> queue = set_;
  for (size_t at = 0; at < queue.size() && levels_[target] == kNotReached; ++at) {
    const uint32_t node = queue[at];
    for (uint32_t i = first_[node]; i < first_[node + 1]; ++i) {
      if (!Spend(steps)) return false;
      const Way& way = ways_[i];
      if (way.left == 0 || levels_[way.to] != kNotReached) continue;
      levels_[way.to] = levels_[node] + 1;
      queue.push_back(way.to);
    }
  }
  return levels_[target] != kNotReached;
}

// The recursion is as deep as there are levels, at most one for each node.
uint64_t BoundedFlow::Push(uint32_t node, uint32_t target, uint64_t most, uint64_t& steps) {
  if (node == target) return most;
  uint64_t pushed = 0;
  for (uint32_t& i = next_[node]; i < first_[node + 1]; ++i) {
    if (!Spend(steps)) break;
    Way& way = ways_[i];
    if (way.left == 0 || levels_[way.to] != levels_[node] + 1) continue;
    const uint64_t went = Push(way.to, target, std::min(most - pushed, way.left), steps);
    if (went == 0) continue;
    way.left -= went;
    ways_[way.back].left += went;
    changed_.push_back(i);
    changed_.push_back(way.back);
    pushed += went;
    if (pushed == most) break;
  }
  return pushed;
}

}  // namespace cgraph::cost
