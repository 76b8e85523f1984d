// Kahn's algorithm finds an order or what has none; breadth-first searches among the latter find
// the cycle with the fewest waits. People read it backwards along the edges: each step waits for
// the next, and steps that only say "stands before it in the list" are drawn together.
#include "runtime/plan/prove/hang.h"

#include <algorithm>
#include <deque>

#include <fmt/format.h>

#include "runtime/plan/print.h"
#include "runtime/plan/prove/step.h"

namespace cgraph::plan::prove {
namespace {

// Edges looked at by all searches together: on a very large tangle the cycle may not be the
// shortest.
constexpr uint64_t kSearchBudget = 50'000'000;

class CycleSearch {
 public:
  CycleSearch(const ConstraintGraph& constraints, const Adjacency& out,
              const std::vector<uint32_t>& order)
      : edges_(constraints.edges()),
        out_(out),
        tangled_(constraints.nodes(), 1),
        cost_(constraints.nodes(), kNone),
        by_(constraints.nodes(), kNone) {
    for (uint32_t node : order) tangled_[node] = 0;
  }

  // The edges of the cheapest cycle, in their direction.
  std::vector<uint32_t> Shortest() {
    KeepAny();
    for (uint32_t node = 0; node < tangled_.size() && visited_ <= kSearchBudget; ++node) {
      if (tangled_[node] != 0) From(node);
    }
    return best_;
  }

 private:
  // Steps within an instruction, and from a hub, cost nothing.
  static uint32_t Cost(const Edge& edge) { return edge.why == Why::kRuns ? 0 : 1; }

  // Every tangled node waits for a tangled one: walking back must come round.
  void KeepAny() {
    std::vector<uint32_t> before(tangled_.size(), kNone);
    uint32_t node = kNone;
    for (uint32_t id = 0; id < edges_.size(); ++id) {
      const Edge& edge = edges_[id];
      if (edge.distance != 0 || tangled_[edge.from] == 0 || tangled_[edge.to] == 0) continue;
      before[edge.to] = id;
      node = edge.to;
    }
    std::vector<uint8_t> passed(tangled_.size(), 0);
    for (; passed[node] == 0; node = edges_[before[node]].from) passed[node] = 1;
    const uint32_t root = node;
    best_cost_ = 0;
    do {
      best_.push_back(before[node]);
      best_cost_ += Cost(edges_[before[node]]);
      node = edges_[before[node]].from;
    } while (node != root);
    std::reverse(best_.begin(), best_.end());
  }

  void From(uint32_t root) {
    std::deque<uint32_t> queue = {root};
    std::vector<uint32_t> touched = {root};
    cost_[root] = 0;
    while (!queue.empty()) {
      const uint32_t node = queue.front();
      queue.pop_front();
      for (uint32_t id : out_.of(node)) {
        const Edge& edge = edges_[id];
        if (edge.distance != 0 || tangled_[edge.to] == 0) continue;
        ++visited_;
        const uint32_t cost = cost_[node] + Cost(edge);
        if (cost >= best_cost_) continue;
        if (edge.to == root) {
          Keep(root, id, cost);
          continue;
        }
        if (cost >= cost_[edge.to]) continue;
        if (cost_[edge.to] == kNone) touched.push_back(edge.to);
        cost_[edge.to] = cost;
        by_[edge.to] = id;
        if (Cost(edge) == 0)
          queue.push_front(edge.to);
        else
          queue.push_back(edge.to);
      }
    }
    for (uint32_t node : touched) cost_[node] = by_[node] = kNone;
  }

  void Keep(uint32_t root, uint32_t last, uint32_t cost) {
    best_cost_ = cost;
    best_ = {last};
    for (uint32_t node = edges_[last].from; node != root; node = edges_[by_[node]].from) {
      best_.push_back(by_[node]);
    }
    std::reverse(best_.begin(), best_.end());
  }

  const std::vector<Edge>& edges_;
  const Adjacency& out_;
  std::vector<uint8_t> tangled_;
  std::vector<uint32_t> cost_, by_;  // of the search under way: cost of a node, edge that led to it
  std::vector<uint32_t> best_;
  uint32_t best_cost_ = kNone;
  uint64_t visited_ = 0;
};

// One wait of the cycle: `waiter` waits for `on`.
struct WaitStep {
  uint32_t waiter = 0, on = 0;
  Edge edge;
};

// From edges between nodes to waits between instructions, backwards, rotated so that the smallest
// instruction comes first, and runs of list order drawn together.
std::vector<WaitStep> Waits(const ConstraintGraph& constraints,
                            const std::vector<uint32_t>& cycle) {
  std::vector<WaitStep> waits;
  const size_t count = cycle.size();
  for (size_t k = 0; k < count; ++k) {
    Edge edge = constraints.edges()[cycle[k]];
    const uint32_t waiter = constraints.instruction(edge.to);
    if (waiter == kNone) continue;
    // Back over hubs and segments to an instruction; what led there says why.
    size_t back = k;
    while (constraints.instruction(constraints.edges()[cycle[back]].from) == kNone) {
      back = (back + count - 1) % count;
      const Edge& before = constraints.edges()[cycle[back]];
      if (edge.why == Why::kRuns) edge.why = before.why;
    }
    const uint32_t on = constraints.instruction(constraints.edges()[cycle[back]].from);
    if (on != waiter) waits.push_back({waiter, on, edge});
  }
  std::reverse(waits.begin(), waits.end());
  for (size_t k = 0; k + 1 < waits.size() && waits.size() > 2;) {
    if (waits[k].edge.why == Why::kLane && waits[k + 1].edge.why == Why::kLane) {
      waits[k].on = waits[k + 1].on;
      waits.erase(waits.begin() + static_cast<std::ptrdiff_t>(k) + 1);
    } else {
      ++k;
    }
  }
  const auto first =
      std::min_element(waits.begin(), waits.end(),
                       [](const WaitStep& a, const WaitStep& b) { return a.waiter < b.waiter; });
  std::rotate(waits.begin(), first, waits.end());
  return waits;
}

std::string Reason(const GraphIndex& index, const WaitStep& step) {
  const Graph& graph = index.graph();
  switch (step.edge.why) {
    case Why::kRuns:
    case Why::kLane:
      return fmt::format("which stands before it in {}",
                         LaneName(index.plan(), index.lane(step.waiter)));
    case Why::kEvent:
      return fmt::format("which signals event {}", graph.instructions[step.on].subject());
    case Why::kTransfer:
      return "which must send first";
    case Why::kRendezvous:
      return step.edge.credit ? "which must receive at the same time"
                              : "which must send at the same time";
    case Why::kRoom:
      return "which must make room in the channel";
    case Why::kCollective:
      return "which is another member's part of the same collective";
    case Why::kSegment:
      return "which must be done before the captured segment";
  }
  return "";
}

}  // namespace

std::vector<uint32_t> TopologicalOrder(const ConstraintGraph& constraints, const Adjacency& out) {
  std::vector<uint32_t> pending(constraints.nodes(), 0);
  for (const Edge& edge : constraints.edges()) {
    if (edge.distance == 0) ++pending[edge.to];
  }
  std::vector<uint32_t> order;
  order.reserve(constraints.nodes());
  for (uint32_t node = 0; node < constraints.nodes(); ++node) {
    if (pending[node] == 0) order.push_back(node);
  }
  for (size_t at = 0; at < order.size(); ++at) {
    for (uint32_t id : out.of(order[at])) {
      const Edge& edge = constraints.edges()[id];
      if (edge.distance == 0 && --pending[edge.to] == 0) order.push_back(edge.to);
    }
  }
  return order;
}

Verdict RefuseHang(const ConstraintGraph& constraints, const Adjacency& out,
                   const std::vector<uint32_t>& order, const std::string& graph_name) {
  const GraphIndex& index = constraints.index();
  const std::vector<WaitStep> waits =
      Waits(constraints, CycleSearch(constraints, out, order).Shortest());
  Verdict verdict;
  verdict.refusal = Refusal::kHang;
  verdict.message = fmt::format("{}, rule 8: it would hang, {} instructions wait for one another",
                                graph_name, waits.size());
  std::string why;
  for (const WaitStep& wait : waits) {
    Step step = MakeStep(index, wait.waiter);
    step.waits_for = Reason(index, wait);
    verdict.message += fmt::format("\n  {}{}{}", why.empty() ? "" : "waits for ", step.text,
                                   why.empty() ? "" : ", " + why);
    why = step.waits_for;
    verdict.steps.push_back(std::move(step));
  }
  verdict.message += fmt::format("\n  waits for the first, {}", why);
  return verdict;
}

}  // namespace cgraph::plan::prove
