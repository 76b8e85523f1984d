#include "compiler/inspect/meetings.h"

#include <map>
#include <utility>

namespace cgraph {

Meetings FindMeetings(const plan::Plan& plan, const plan::Graph& graph) {
  Meetings meetings;
  meetings.channels.resize(graph.channels.size());
  std::map<std::pair<uint32_t, uint32_t>, size_t> met;  // communicator, position -> collectives
  for (const plan::Range& program : graph.programs) {
    std::vector<uint32_t> position(plan.communicators.size(), 0);
    for (uint32_t i = program.first(); i < program.first() + program.count(); ++i) {
      const plan::Instruction& instruction = graph.instructions[i];
      if (instruction.kind() != plan::Kind::comm) {
        continue;
      }
      for (uint32_t p = instruction.first(); p < instruction.first() + instruction.inputs(); ++p) {
        const plan::CommPart& part = graph.parts[p];
        if (part.part() == plan::Part::collective) {
          const uint32_t communicator = graph.collectives[part.subject()]->communicator;
          const auto [it, fresh] = met.insert(
              {{communicator, position[communicator]++}, meetings.collectives.size()});
          if (fresh) {
            meetings.collectives.emplace_back();
          }
          meetings.collectives[it->second].push_back({i, p});
        } else {
          ChannelEnds& ends = meetings.channels[part.subject()];
          (part.part() == plan::Part::send ? ends.sends : ends.receives).push_back({i, p});
        }
      }
    }
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
