// Questions about the capacity of channels: the order that shows that nothing deadlocks, and the
// least capacity that has such an order. A greater capacity only takes waits away (a send waits for
// an earlier receive), so the safe capacities are all those from some number on; and room for as
// many messages as a round has is as good as any more.
#include <algorithm>

#include "runtime/plan/prove.h"
#include "runtime/plan/prove/edges.h"
#include "runtime/plan/prove/rules.h"

namespace cgraph::plan {
namespace {

// Calls visit(its messages indexed, its number) for every graph that has instructions.
template <typename Visit>
void ForEachGraph(const Plan& plan, Visit visit) {
  const auto visit_one = [&](const Graph& graph, uint32_t number) {
    if (graph.instructions.empty()) return;
    GraphIndex index(plan, graph);
    index.IndexMessages();
    visit(index, number);
  };
  visit_one(*plan.start, kNone);
  for (uint32_t g = 0; g < plan.graphs.size(); ++g) visit_one(*plan.graphs[g], g);
}

bool Deadlocks(const GraphIndex& index, uint32_t capacity) {
  const prove::ConstraintGraph constraints(index, capacity);
  const auto out = prove::EdgesBy(&prove::Edge::from, constraints.nodes(), constraints.edges());
  return TopologicalOrder(constraints, out).size() < constraints.nodes();
}

std::optional<uint32_t> SmallestCapacityOf(const GraphIndex& index) {
  uint32_t most = 0;
  for (uint32_t channel = 0; channel < index.graph().channels.size(); ++channel) {
    most = std::max(most, static_cast<uint32_t>(index.sends(channel).size()));
  }
  if (Deadlocks(index, most)) return std::nullopt;
  uint32_t unsafe_below = 0, safe = most;
  while (unsafe_below < safe) {
    const uint32_t middle = unsafe_below + (safe - unsafe_below) / 2;
    if (Deadlocks(index, middle)) {
      unsafe_below = middle + 1;
    } else {
      safe = middle;
    }
  }
  return safe;
}

}  // namespace

std::vector<LinearExtension> LinearExtensions(const Plan& plan, const ProveOptions& options) {
  std::vector<LinearExtension> extensions;
  ForEachGraph(plan, [&](const GraphIndex& index, uint32_t number) {
    const prove::ConstraintGraph constraints(index, options.capacity);
    const auto out = prove::EdgesBy(&prove::Edge::from, constraints.nodes(), constraints.edges());
    const std::vector<uint32_t> order = TopologicalOrder(constraints, out);
    std::vector<uint32_t> position(constraints.nodes());
    for (uint32_t at = 0; at < order.size(); ++at) position[order[at]] = at;
    LinearExtension extension{number, {}, {}};
    for (uint32_t i = 0; i < index.graph().instructions.size(); ++i) {
      extension.start.push_back(position[constraints.start(i)]);
      extension.done.push_back(position[constraints.done(i)]);
    }
    extensions.push_back(std::move(extension));
  });
  return extensions;
}

std::optional<uint32_t> SmallestCapacity(const Plan& plan) {
  std::optional<uint32_t> smallest = 0;
  ForEachGraph(plan, [&](const GraphIndex& index, uint32_t) {
    const std::optional<uint32_t> here = SmallestCapacityOf(index);
    smallest = smallest && here ? std::optional(std::max(*smallest, *here)) : std::nullopt;
  });
  return smallest;
}

}  // namespace cgraph::plan
