#include "runtime/load/sync/sync.h"

#include <algorithm>

#include "runtime/load/frames.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {
namespace {

using plan::Kind;

// Returns whether an instruction is over when the round `rounds` after its own is submitted.
// Submission awaits the round `depth` before.
bool OverBySubmission(const plan::Graph& graph, const plan::Instruction& at, uint32_t rounds,
                      uint32_t depth) {
  if (rounds >= depth || at.kind() == Kind::signal || at.kind() == Kind::input) return true;
  if (at.kind() != Kind::wait) return false;
  const auto first = graph.waits.begin() + at.first();
  return std::all_of(first, first + at.inputs(),
                     [&](const plan::Wait& wait) { return wait.lag() + rounds >= depth; });
}

// Returns whether submission may make an input's extents: on the caller's device, where all that
// the plan has before the input is over by then. That is what its lane has before it in the same
// round, and all that its lane has in the rounds before. For example, where the lane also calls a
// kernel that reads the extent, the call of the round before may still be running.
bool MadeBySubmission(const plan::GraphIndex& index, uint32_t input, uint32_t depth) {
  const plan::Graph& graph = index.graph();
  const plan::Device& device = *index.plan().devices[index.device(input)];
  if (device.kind != plan::DeviceKind::caller || graph.instructions[input].lag() != 0) return false;
  const plan::Range& lane = graph.programs[index.lane(input)];
  for (uint32_t i = lane.first(); i < lane.first() + lane.count(); ++i) {
    const uint32_t rounds = i < input ? 0 : 1;
    if (!OverBySubmission(graph, graph.instructions[i], rounds, depth)) return false;
  }
  return true;
}

}  // namespace

std::vector<bool> FindInstructionsWithWork(const plan::GraphIndex& index, uint32_t depth) {
  const plan::Graph& graph = index.graph();
  const std::vector<bool> given = GivenSymbols(graph);
  std::vector<bool> has_work(graph.instructions.size(), true);
  for (uint32_t i = 0; i < has_work.size(); ++i) {
    const plan::Instruction& at = graph.instructions[i];
    switch (at.kind()) {
      case Kind::signal:
      case Kind::wait: has_work[i] = false; break;
      case Kind::input:
        has_work[i] = at.outputs() > 1 && (depth == kNoDepth || !MadeBySubmission(index, i, depth));
        break;
      case Kind::output: {
        const uint32_t value = graph.operands[at.first()];
        has_work[i] = !InOutput(graph, value) || !HasGivenDims(graph, value, given);
        break;
      }
      default: break;
    }
  }
  return has_work;
}

}  // namespace cgraph::engine
