// Rule 14. Every lane runs the rounds of all graphs in one order of submission. So state that is
// touched on one lane only, and without lags, needs no further proof. Where a lag lets a round
// touch state for an execution that began before, the engine finishes one graph's executions before
// it submits another's (docs/plan.md, rule 14). The start graph is complete before all others, and
// graphs have slots of their own. One thing is left to show: where one graph writes state that
// another touches, all of them touch it on the same lane.
#include "runtime/plan/prove/rules.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "runtime/plan/graph_index.h"

namespace cgraph::plan::prove {
namespace {

struct StateUse {
  uint32_t actor = 0;
  uint64_t begin = 0, end = 0;  // in the actor's block
  uint32_t graph = 0, lane = 0, instruction = 0;
  bool write = false;
};

std::vector<StateUse> StateUses(const Plan& plan) {
  std::vector<StateUse> uses;
  for (uint32_t g = 0; g < plan.graphs.size(); ++g) {
    const Graph& graph = *plan.graphs[g];
    const bool any = std::any_of(graph.arenas.begin(), graph.arenas.end(),
                                 [](const Arena& arena) { return arena.space() == Space::state; });
    if (!any) continue;
    const GraphIndex index(plan, graph);
    for (uint32_t i = 0; i < graph.instructions.size(); ++i) {
      index.ForEachAccess(i, [&](uint32_t id, bool write) {
        const Value& value = graph.values[id];
        const Buffer& buffer = graph.buffers[value.buffer()];
        const Arena& arena = graph.arenas[buffer.arena()];
        if (arena.space() != Space::state || value.bytes() == 0) return;
        const uint64_t begin = buffer.offset() + value.offset();
        uses.push_back({arena.owner(), begin, begin + value.bytes(), g, index.lane(i), i, write});
      });
    }
  }
  std::sort(uses.begin(), uses.end(), [](const StateUse& a, const StateUse& b) {
    return std::tie(a.actor, a.begin, a.graph, a.instruction) <
           std::tie(b.actor, b.begin, b.graph, b.instruction);
  });
  return uses;
}

// Checks uses of bytes that overlap, directly or through other uses: as a rule, one state variable.
Verdict CheckTogether(const Plan& plan, std::span<const StateUse> uses) {
  const StateUse& first = uses.front();
  const auto shared = std::find_if(uses.begin(), uses.end(),
                                   [&](const StateUse& use) { return use.graph != first.graph; });
  const bool written =
      std::any_of(uses.begin(), uses.end(), [](const StateUse& use) { return use.write; });
  if (shared == uses.end() || !written) return {};
  const auto elsewhere = std::find_if(uses.begin(), uses.end(),
                                      [&](const StateUse& use) { return use.lane != first.lane; });
  if (elsewhere == uses.end()) return {};
  Verdict verdict;
  verdict.refusal = Refusal::kGraphs;
  verdict.message = fmt::format(
      "rule 14: state of `{}` that graphs share is touched on two lanes, so "
      "that nothing orders one graph after the other",
      plan.actors[first.actor]->name);
  for (const StateUse* use : {&first, &*elsewhere}) {
    RefusalStep step = MakeStep(GraphIndex(plan, *plan.graphs[use->graph]), use->instruction);
    verdict.message += fmt::format("\n  graph `{}`: {}", step.graph, step.text);
    verdict.steps.push_back(std::move(step));
  }
  return verdict;
}

}  // namespace

Verdict CheckGraphs(const Plan& plan) {
  if (plan.graphs.size() < 2) return {};
  const std::vector<StateUse> uses = StateUses(plan);
  for (size_t first = 0; first < uses.size();) {
    size_t last = first;
    uint64_t end = 0;
    while (last < uses.size() && uses[last].actor == uses[first].actor &&
           (last == first || uses[last].begin < end)) {
      end = std::max(end, uses[last++].end);
    }
    Verdict verdict = CheckTogether(plan, std::span(uses).subspan(first, last - first));
    if (!verdict.proved()) return verdict;
    first = last;
  }
  return {};
}

}  // namespace cgraph::plan::prove
