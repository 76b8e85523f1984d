#include "runtime/engine/load/sync/works.h"

#include "runtime/engine/load/frames.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {
namespace {

using plan::Kind;

// Returns whether all that its lane has before an input is over when a round is submitted. An input
// that is work would wait in its work queue until the execution before has its results.
bool MadeBySubmission(const plan::GraphIndex& index, uint32_t input, uint32_t depth) {
  const plan::Graph& graph = index.graph();
  if (graph.instructions[input].lag() != 0) return false;
  for (uint32_t i = graph.programs[index.lane(input)].first(); i < input; ++i) {
    const plan::Instruction& before = graph.instructions[i];
    if (before.kind() == Kind::signal || before.kind() == Kind::input) continue;
    if (before.kind() != Kind::wait) return false;
    for (uint32_t w = before.first(); w < before.first() + before.inputs(); ++w) {
      if (graph.waits[w].lag() < depth) return false;
    }
  }
  return true;
}

}  // namespace

std::vector<bool> FindWorks(const plan::GraphIndex& index, uint32_t depth) {
  const plan::Graph& graph = index.graph();
  std::vector<bool> works(graph.instructions.size(), true);
  for (uint32_t i = 0; i < works.size(); ++i) {
    const plan::Instruction& at = graph.instructions[i];
    switch (at.kind()) {
      case Kind::signal:
      case Kind::wait: works[i] = false; break;
      case Kind::input:
        works[i] = at.outputs() > 1 && (depth == kNoDepth || !MadeBySubmission(index, i, depth));
        break;
      case Kind::output: {
        const uint32_t value = graph.operands[at.first()];
        works[i] = IsDynamic(graph, value) || !InOutput(graph, value);
        break;
      }
      default: break;
    }
  }
  return works;
}

}  // namespace cgraph::engine
