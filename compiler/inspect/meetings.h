// Where a graph's lanes meet: which parts of its communications belong together, as the plan's
// index finds them. A channel's j-th send of a round matches its j-th receive.
#ifndef CGRAPH_COMPILER_INSPECT_MEETINGS_H_
#define CGRAPH_COMPILER_INSPECT_MEETINGS_H_

#include <cstdint>
#include <vector>

#include "runtime/plan/graph_index.h"
#include "runtime/plan/plan.h"

namespace cgraph {

using PartRef = plan::Message;

struct ChannelEnds {
  std::vector<PartRef> sends;  // in the order of the sending lane
  std::vector<PartRef> receives;
};

struct Meetings {
  std::vector<ChannelEnds> channels;              // by channel
  std::vector<std::vector<PartRef>> collectives;  // each with its part at every member
};

Meetings FindMeetings(const plan::Plan& plan, const plan::Graph& graph);

// The lane of every instruction.
std::vector<uint32_t> LanesOf(const plan::Graph& graph);

// The values that an instruction reads and writes, over all parts of a communication.
struct Operands {
  std::vector<uint32_t> inputs;
  std::vector<uint32_t> outputs;
};
Operands OperandsOf(const plan::Graph& graph, uint32_t instruction);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_MEETINGS_H_
