#include "compiler/inspect/meetings.h"

#include "runtime/plan/graph_index.h"

namespace cgraph {

Meetings FindMeetings(const plan::Plan& plan, const plan::Graph& graph) {
  plan::GraphIndex index(plan, graph);
  index.IndexMessages();
  Meetings meetings;
  for (uint32_t channel = 0; channel < graph.channels.size(); ++channel) {
    const auto sends = index.sends(channel), receives = index.receives(channel);
    meetings.channels.push_back(
        {{sends.begin(), sends.end()}, {receives.begin(), receives.end()}});
  }
  const plan::CollectivePart* before = nullptr;
  for (const plan::CollectivePart& part : index.collective_parts()) {
    if (before == nullptr || before->communicator != part.communicator ||
        before->turn != part.turn) {
      meetings.collectives.emplace_back();
    }
    meetings.collectives.back().push_back({part.instruction, part.part});
    before = &part;
  }
  return meetings;
}

std::vector<uint32_t> LanesOf(const plan::Graph& graph) {
  std::vector<uint32_t> lanes(graph.instructions.size(), plan::kNone);
  for (uint32_t lane = 0; lane < graph.programs.size(); ++lane) {
    const plan::Range& program = graph.programs[lane];
    for (uint32_t i = program.first(); i < program.first() + program.count(); ++i) {
      lanes[i] = lane;
    }
  }
  return lanes;
}

namespace {

void AddRange(const plan::Graph& graph, uint32_t first, uint32_t inputs, uint32_t outputs,
              Operands& operands) {
  for (uint32_t i = 0; i < inputs + outputs; ++i) {
    (i < inputs ? operands.inputs : operands.outputs).push_back(graph.operands[first + i]);
  }
}

}  // namespace

Operands OperandsOf(const plan::Graph& graph, uint32_t index) {
  const plan::Instruction& instruction = graph.instructions[index];
  Operands operands;
  switch (instruction.kind()) {
    case plan::Kind::comm:
      for (uint32_t p = instruction.first(); p < instruction.first() + instruction.inputs(); ++p) {
        const plan::CommPart& part = graph.parts[p];
        AddRange(graph, part.first(), part.inputs(), part.outputs(), operands);
      }
      break;
    case plan::Kind::signal:
    case plan::Kind::wait:
      break;
    default:
      AddRange(graph, instruction.first(), instruction.inputs(), instruction.outputs(), operands);
  }
  return operands;
}

}  // namespace cgraph
