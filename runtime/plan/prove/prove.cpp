// The rules are checked in the order in which they build on each other: 8, the part of 12 about
// lags, 9 to 11, 15, the rest of 12, and 13. VectorClocks exist only where there is no cycle, and
// look back no further than lags reach; extents can be followed back only where nothing races; and
// a certificate says something only of a plan that has a shape.
#include "runtime/plan/prove.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/plan/check.h"
#include "runtime/plan/graph_index.h"
#include "runtime/plan/print.h"
#include "runtime/plan/prove/edges.h"
#include "runtime/plan/prove/rules.h"
#include "runtime/plan/prove/vector_clocks.h"

namespace cgraph::plan {
namespace {

// Checks the graph's certificate, and those of the plan's partitions.
Verdict CheckCertificates(const Plan& plan, const Graph& graph,
                          const prove::ConstraintGraph& constraints, const std::string& name) {
  if (Verdict own = prove::CheckCertificate(constraints, {}, name); !own.proved()) return own;
  for (size_t i = 0; i < plan.graphs.size(); ++i) {
    if (plan.graphs[i].get() != &graph) continue;
    for (const auto& partition : plan.partitions) {
      const std::vector<uint32_t>& positions = partition->certificates[i]->positions;
      if (positions.empty()) continue;
      const std::string for_workers = fmt::format("{}, for {} workers", name, partition->workers);
      Verdict other = prove::CheckCertificate(constraints, positions, for_workers);
      if (!other.proved()) return other;
    }
  }
  return {};
}

Verdict ProveGraph(const Plan& plan, const Graph& graph, const std::string& name,
                   const ProveOptions& options) {
  if (graph.instructions.empty()) return {};
  GraphIndex index(plan, graph);
  index.IndexMessages();
  const prove::ConstraintGraph constraints(index, options.capacity);
  const auto out = prove::EdgesBy(&prove::Edge::from, constraints.nodes(), constraints.edges());
  const std::vector<uint32_t> order = prove::TopologicalOrder(constraints, out);
  if (order.size() < constraints.nodes()) return RefuseDeadlock(constraints, out, order, name);
  if (Verdict lags = prove::CheckLags(index, name); !lags.proved()) return lags;

  const prove::VectorClocks clocks(constraints, order);
  if (!clocks.fitted()) {
    Verdict verdict;
    verdict.refusal = Refusal::kTooLarge;
    verdict.message = fmt::format("{}: {} instructions on {} lanes are too many to prove; fewer "
                                  "lanes need less, --lanes one, or fewer operations in one graph",
                                  name, graph.instructions.size(), graph.programs.size());
    return verdict;
  }
  const auto accesses = AccessesByBuffer(index);
  if (Verdict race = CheckSameBuffer(index, accesses, clocks, name); !race.proved()) return race;
  if (Verdict race = CheckReuse(index, accesses, clocks, name); !race.proved()) return race;
  Verdict extents = prove::CheckOneExtent(index, accesses, name);
  if (!extents.proved()) return extents;
  Verdict inflight = CheckInflight(constraints, out, name);
  if (!inflight.proved()) return inflight;
  // A certificate holds only for the capacities that the plan states.
  if (options.capacity.has_value()) return {};
  return CheckCertificates(plan, graph, constraints, name);
}

void PrintCertificate(const Plan& plan, const Graph& graph, const std::string& title,
                      std::string& out) {
  if (graph.instructions.empty()) return;
  GraphIndex index(plan, graph);
  std::vector<uint32_t> by_order(graph.instructions.size());
  for (uint32_t i = 0; i < by_order.size(); ++i) by_order[i] = i;
  std::stable_sort(by_order.begin(), by_order.end(), [&](uint32_t a, uint32_t b) {
    return graph.instructions[a].certificate_position() <
           graph.instructions[b].certificate_position();
  });
  std::vector<std::string> lanes;
  for (uint32_t lane = 0; lane < plan.lanes.size(); ++lane) lanes.push_back(LaneName(plan, lane));
  out += title + "\n";
  for (uint32_t i : by_order) {
    out += fmt::format("  {:>5}  {}: {}\n", graph.instructions[i].certificate_position(),
                       lanes[index.lane(i)], InstructionText(plan, graph, i));
  }
}

}  // namespace

const char* RefusalName(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNone:
      return "proved";
    case Refusal::kShape:
      return "shape";
    case Refusal::kDeadlock:
      return "deadlock";
    case Refusal::kRace:
      return "race";
    case Refusal::kExtent:
      return "extent";
    case Refusal::kInflight:
      return "inflight";
    case Refusal::kCertificate:
      return "certificate";
    case Refusal::kGraphs:
      return "graphs";
    case Refusal::kTooLarge:
      return "too large";
  }
  return "?";
}

Verdict Prove(const Plan& plan, const ProveOptions& options) {
  if (const Status shape = options.checked ? Status::Ok() : CheckPlan(plan); !shape.ok()) {
    Verdict verdict;
    verdict.refusal = Refusal::kShape;
    verdict.message = shape.message();
    return verdict;
  }
  if (Verdict start = ProveGraph(plan, *plan.start, "start graph", options); !start.proved()) {
    return start;
  }
  for (const auto& graph : plan.graphs) {
    Verdict verdict = ProveGraph(plan, *graph, fmt::format("graph `{}`", graph->name), options);
    if (!verdict.proved()) return verdict;
  }
  return prove::CheckGraphs(plan);
}

std::string CertificateText(const Plan& plan) {
  std::string out;
  PrintCertificate(plan, *plan.start, "start graph", out);
  for (const auto& graph : plan.graphs) {
    PrintCertificate(plan, *graph, fmt::format("graph `{}`", graph->name), out);
  }
  return out;
}

}  // namespace cgraph::plan
