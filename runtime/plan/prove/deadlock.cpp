// Kahn's algorithm finds an order, or the nodes that have none; breadth-first searches among the
// latter find the cycle that takes the fewest waits to explain. The message goes backwards along
// the edges: each step waits for the next, and steps that only say "stands before it in the list"
// are drawn together.
#include "runtime/plan/prove/rules.h"

#include <algorithm>
#include <deque>

#include <fmt/format.h>

#include "runtime/plan/print.h"

namespace cgraph::plan::prove {
namespace {

// Edges looked at by all searches together: on a very large graph the cycle may not be the
// shortest.
constexpr uint64_t kSearchBudget = 50'000'000;

// Finds a shortest cycle. The cost of a cycle is the number of waits that the message shows:
// several steps back along one lane are one wait. So a search walks over (node, whether a lane led
// to it).
class CycleSearch {
 public:
  CycleSearch(const ConstraintGraph& constraints, const Lists<uint32_t>& out,
              const std::vector<uint32_t>& order)
      : constraints_(constraints),
        edges_(constraints.edges()),
        out_(out),
        on_cycle_(constraints.nodes(), 1),
        reached_(2 * uint64_t{constraints.nodes()}) {
    for (uint32_t node : order) on_cycle_[node] = 0;
    DropAcyclicTails();
  }

  // Returns the edges of the cheapest cycle, in their direction.
  std::vector<uint32_t> Shortest() {
    KeepAny();
    // A lane alone is no cycle: every cycle enters some node by an edge that is not the lane's.
    std::vector<uint8_t> roots(on_cycle_.size(), 0);
    for (const Edge& edge : edges_) {
      if (Within(edge) && !IsLane(edge) && Cost(edge) > 0) roots[edge.to] = 1;
    }
    for (uint32_t node = 0; node < roots.size() && visited_ <= kSearchBudget; ++node) {
      if (roots[node] != 0) From(node);
    }
    return best_;
  }

 private:
  struct Reached {
    uint32_t cost = kNone;
    uint32_t by = kNone;      // edge
    uint32_t before = kNone;  // state that the edge left
  };

  bool Within(const Edge& edge) const {
    return edge.distance == 0 && on_cycle_[edge.from] != 0 && on_cycle_[edge.to] != 0;
  }
  static bool IsLane(const Edge& edge) { return edge.why == Why::kLane; }
  // Steps within an instruction, and into a hub, cost nothing: they are told with the step that
  // follows.
  uint32_t Cost(const Edge& edge) const {
    const bool to_hub = edge.why == Why::kCollective && constraints_.instruction(edge.to) == kNone;
    return edge.why == Why::kRuns || to_hub ? 0 : 1;
  }

  // Drops nodes that wait for a cycle but are not part of one: the same sort from behind.
  void DropAcyclicTails() {
    std::vector<uint32_t> pending(on_cycle_.size(), 0), ready;
    for (const Edge& edge : edges_) pending[edge.from] += Within(edge);
    for (uint32_t node = 0; node < on_cycle_.size(); ++node) {
      if (on_cycle_[node] != 0 && pending[node] == 0) ready.push_back(node);
    }
    const auto in = EdgesBy(&Edge::to, constraints_.nodes(), edges_);
    for (size_t at = 0; at < ready.size(); ++at) {
      for (uint32_t id : in.of(ready[at])) {
        if (Within(edges_[id]) && --pending[edges_[id].from] == 0) {
          ready.push_back(edges_[id].from);
        }
      }
      on_cycle_[ready[at]] = 0;
    }
  }

  // Keeps some cycle: every cyclic node waits for a node on a cycle, so walking back must come
  // round. The searches need its cost as a bound, and may stop before they find another.
  void KeepAny() {
    std::vector<uint32_t> before(on_cycle_.size(), kNone);
    uint32_t node = kNone;
    for (uint32_t id = 0; id < edges_.size(); ++id) {
      if (!Within(edges_[id])) continue;
      before[edges_[id].to] = id;
      node = edges_[id].to;
    }
    std::vector<uint8_t> passed(on_cycle_.size(), 0);
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

  // Searches from a node that an edge other than its lane's has led to, back to it by such an edge.
  void From(uint32_t root) {
    std::deque<uint32_t> queue = {2 * root};
    std::vector<uint32_t> touched = {2 * root};
    reached_[2 * root].cost = 0;
    while (!queue.empty()) {
      const uint32_t state = queue.front();
      queue.pop_front();
      const bool by_lane = state % 2 != 0;
      for (uint32_t id : out_.of(state / 2)) {
        const Edge& edge = edges_[id];
        if (!Within(edge)) continue;
        ++visited_;
        const uint32_t step = by_lane && IsLane(edge) ? 0 : Cost(edge);
        const uint32_t cost = reached_[state].cost + step;
        if (cost >= best_cost_) continue;
        if (edge.to == root && !IsLane(edge)) {
          Keep(id, state, cost);
          continue;
        }
        const bool still = IsLane(edge) || (by_lane && edge.why == Why::kRuns);
        const uint32_t next = 2 * edge.to + (still ? 1 : 0);
        if (cost >= reached_[next].cost) continue;
        if (reached_[next].cost == kNone) touched.push_back(next);
        reached_[next] = {cost, id, state};
        if (step == 0)
          queue.push_front(next);
        else
          queue.push_back(next);
      }
    }
    for (uint32_t state : touched) reached_[state] = {};
  }

  void Keep(uint32_t last, uint32_t state, uint32_t cost) {
    best_cost_ = cost;
    best_ = {last};
    for (; reached_[state].by != kNone; state = reached_[state].before) {
      best_.push_back(reached_[state].by);
    }
    std::reverse(best_.begin(), best_.end());
  }

  const ConstraintGraph& constraints_;
  const std::vector<Edge>& edges_;
  const Lists<uint32_t>& out_;
  std::vector<uint8_t> on_cycle_;   // by node: on a cycle, or between two
  std::vector<Reached> reached_;   // by state, of the search under way
  std::vector<uint32_t> best_;
  uint32_t best_cost_ = kNone;
  uint64_t visited_ = 0;
};

// Turns edges between nodes into edges between instructions, backwards, rotated so that the
// smallest instruction that waits comes first, with runs of list order drawn together.
std::vector<Edge> Waits(const ConstraintGraph& constraints, const std::vector<uint32_t>& cycle) {
  std::vector<Edge> waits;
  const size_t count = cycle.size();
  for (size_t k = 0; k < count; ++k) {
    Edge edge = constraints.edges()[cycle[k]];
    const uint32_t waiter = constraints.instruction(edge.to);
    if (waiter == kNone) continue;
    // Goes back over hubs and captures to an instruction; the edge that led there says why it
    // waits.
    size_t back = k;
    while (constraints.instruction(constraints.edges()[cycle[back]].from) == kNone) {
      back = (back + count - 1) % count;
      const Edge& before = constraints.edges()[cycle[back]];
      if (edge.why == Why::kRuns) edge.why = before.why;
    }
    edge.from = constraints.instruction(constraints.edges()[cycle[back]].from);
    edge.to = waiter;
    if (edge.from != waiter) waits.push_back(edge);
  }
  std::reverse(waits.begin(), waits.end());
  for (size_t k = 0; k + 1 < waits.size() && waits.size() > 2;) {
    if (waits[k].why == Why::kLane && waits[k + 1].why == Why::kLane) {
      waits[k].from = waits[k + 1].from;
      waits.erase(waits.begin() + static_cast<std::ptrdiff_t>(k) + 1);
    } else {
      ++k;
    }
  }
  const auto first =
      std::min_element(waits.begin(), waits.end(),
                       [](const Edge& a, const Edge& b) { return a.to < b.to; });
  std::rotate(waits.begin(), first, waits.end());
  return waits;
}

std::string Reason(const GraphIndex& index, const Edge& wait) {
  const Graph& graph = index.graph();
  switch (wait.why) {
    case Why::kRuns:
    case Why::kLane:
      return fmt::format("which stands before it in {}",
                         LaneName(index.plan(), index.lane(wait.to)));
    case Why::kEvent:
      return fmt::format("which signals event {}", graph.instructions[wait.from].subject());
    case Why::kTransfer:
      return "which must send first";
    case Why::kRendezvous:
      return wait.credit ? "which must receive at the same time"
                              : "which must send at the same time";
    case Why::kCapacity:
      return "which must make room in the channel";
    case Why::kCollective:
      return "which is another member's part of the same collective";
    case Why::kCapture:
      return "which must be done before the capture";
  }
  return "";
}

}  // namespace

std::vector<uint32_t> TopologicalOrder(const ConstraintGraph& constraints,
                                       const Lists<uint32_t>& out) {
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

Verdict RefuseDeadlock(const ConstraintGraph& constraints, const Lists<uint32_t>& out,
                       const std::vector<uint32_t>& order, const std::string& graph_name) {
  const GraphIndex& index = constraints.index();
  const std::vector<Edge> waits =
      Waits(constraints, CycleSearch(constraints, out, order).Shortest());
  Verdict verdict;
  verdict.refusal = Refusal::kDeadlock;
  verdict.message =
      fmt::format("{}, rule 8: it would deadlock, {} instructions wait for one another", graph_name,
                  waits.size());
  std::string why;
  for (const Edge& wait : waits) {
    RefusalStep step = MakeStep(index, wait.to);
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
