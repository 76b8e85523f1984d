#include "compiler/cost/group/least_cut.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "compiler/cost/group/bounded_flow.h"

namespace cgraph::cost {
namespace {

constexpr uint64_t kMostSteps = uint64_t{1} << 26;  // arcs looked at by flows

struct End {
  uint32_t node;
  uint64_t capacity;
  bool operator==(const End&) const = default;
};

// The arcs by node, in both directions, in order of the other end.
struct Ends {
  std::vector<std::vector<End>> out, in;
  std::vector<uint64_t> leaves, enters;
};

Ends EndsOf(uint32_t nodes, const std::vector<Arc>& arcs) {
  Ends ends;
  ends.out.resize(nodes);
  ends.in.resize(nodes);
  ends.leaves.resize(nodes, 0);
  ends.enters.resize(nodes, 0);
  for (const Arc& arc : arcs) {  // sorted by both ends
    ends.out[arc.from].push_back({arc.to, arc.capacity});
    ends.in[arc.to].push_back({arc.from, arc.capacity});
    ends.leaves[arc.from] += arc.capacity;
    ends.enters[arc.to] += arc.capacity;
  }
  return ends;
}

// Sorts arcs. Arcs between the same nodes become one; those from a node to itself are dropped.
std::vector<Arc> Merged(std::vector<Arc> arcs) {
  std::sort(arcs.begin(), arcs.end(), [](const Arc& a, const Arc& b) {
    return std::tie(a.from, a.to) < std::tie(b.from, b.to);
  });
  std::vector<Arc> merged;
  for (const Arc& arc : arcs) {
    if (arc.from == arc.to || arc.capacity == 0) continue;
    if (!merged.empty() && merged.back().from == arc.from && merged.back().to == arc.to) {
      merged.back().capacity += arc.capacity;
    } else {
      merged.push_back(arc);
    }
  }
  return merged;
}

uint64_t CapacityTo(const std::vector<End>& ends, uint32_t node) {
  const auto found = std::lower_bound(ends.begin(), ends.end(), node,
                                      [](const End& end, uint32_t at) { return end.node < at; });
  return found != ends.end() && found->node == node ? found->capacity : 0;
}

// Returns whether two nodes have equal arcs, leaving out those to the nodes `a` and `b` themselves.
bool SameBut(const std::vector<End>& one, const std::vector<End>& other, uint32_t a, uint32_t b) {
  const auto skip = [&](auto& at, const std::vector<End>& ends) {
    while (at != ends.end() && (at->node == a || at->node == b)) ++at;
  };
  auto left = one.begin(), right = other.begin();
  while (true) {
    skip(left, one);
    skip(right, other);
    if (left == one.end() || right == other.end()) return left == one.end() && right == other.end();
    if (*left++ != *right++) return false;
  }
}

bool AreEqual(const Ends& ends, uint32_t a, uint32_t b) {
  return CapacityTo(ends.out[a], b) == CapacityTo(ends.out[b], a) &&
         SameBut(ends.out[a], ends.out[b], a, b) && SameBut(ends.in[a], ends.in[b], a, b);
}

// Numbers the classes of equal nodes, by node; returns how many classes there are.
uint32_t ClassesOf(const Ends& ends, std::vector<uint32_t>& class_of) {
  std::vector<uint32_t> order(class_of.size()), first;  // of each class
  std::iota(order.begin(), order.end(), 0);
  const auto signature = [&](uint32_t node) {
    return std::tie(ends.leaves[node], ends.enters[node]);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return signature(a) < signature(b); });
  size_t alike = 0;  // the first class whose nodes may be equal to the next one
  for (uint32_t node : order) {
    if (!first.empty() && signature(first.back()) != signature(node)) alike = first.size();
    size_t found = alike;
    while (found < first.size() && !AreEqual(ends, first[found], node)) ++found;
    if (found == first.size()) first.push_back(node);
    class_of[node] = static_cast<uint32_t>(found);
  }
  return static_cast<uint32_t>(first.size());
}

uint64_t LeastOfOne(const Ends& ends) {
  return std::min(*std::min_element(ends.leaves.begin(), ends.leaves.end()),
                  *std::min_element(ends.enters.begin(), ends.enters.end()));
}

// The next node is the one with the most bandwidth to and from the set.
std::optional<uint64_t> LeastByFlows(uint32_t nodes, const std::vector<Arc>& arcs, uint64_t least) {
  uint64_t steps = kMostSteps;
  BoundedFlow out(nodes, arcs, /*turned=*/false), in(nodes, arcs, /*turned=*/true);
  out.Join(0);
  in.Join(0);
  for (uint32_t joined = 1; joined < nodes; ++joined) {
    uint32_t next = 0;
    uint64_t most = 0;
    for (uint32_t node = 0; node < nodes; ++node) {
      if (out.has(node)) continue;
      const uint64_t both = out.direct(node) + in.direct(node);
      if (next == 0 || both > most) std::tie(next, most) = std::pair(node, both);
    }
    for (BoundedFlow* flow : {&out, &in}) {
      least = flow->To(next, least, steps);
      if (steps == 0) return std::nullopt;
      flow->Join(next);
    }
  }
  return least;
}

}  // namespace

std::optional<uint64_t> LeastCut(uint32_t nodes, std::vector<Arc> arcs) {
  uint64_t least = UINT64_MAX;
  while (nodes > 1) {
    arcs = Merged(std::move(arcs));
    const Ends ends = EndsOf(nodes, arcs);
    least = std::min(least, LeastOfOne(ends));
    std::vector<uint32_t> class_of(nodes);
    const uint32_t classes = ClassesOf(ends, class_of);
    if (classes == nodes || least == 0) break;
    for (Arc& arc : arcs) arc = {class_of[arc.from], class_of[arc.to], arc.capacity};
    nodes = classes;
  }
  if (nodes <= 3 || least == 0) return least;  // a cut of three parts one from the others
  return LeastByFlows(nodes, arcs, least);
}

}  // namespace cgraph::cost
