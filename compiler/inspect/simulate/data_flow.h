// Which instruction of a graph depends on which, read off its plan: data, state over executions,
// transfers.
//
// A unit is what a schedule cannot tear apart: the instructions of one method call that follow each
// other on a lane, or any other single instruction. A unit reads what was last written to the same
// bytes of the same buffer in the plan's meaning, which for state may be by the execution before.
#ifndef CGRAPH_COMPILER_INSPECT_SIMULATE_DATA_FLOW_H_
#define CGRAPH_COMPILER_INSPECT_SIMULATE_DATA_FLOW_H_

#include <cstdint>
#include <vector>

#include "runtime/plan/graph_index.h"
#include "runtime/plan/plan.h"

namespace cgraph {

struct Units {
  std::vector<uint32_t> of;    // by instruction
  std::vector<uint32_t> lane;  // by unit
  // By unit: the position in program order of its first instruction.
  std::vector<uint32_t> program_order;
  uint32_t size() const { return static_cast<uint32_t>(lane.size()); }
};
Units FindUnits(const plan::Graph& graph);

struct Dependency {
  uint32_t from;
  uint32_t to;
  uint32_t distance;  // in executions: 0 or, through state, 1

  friend auto operator<=>(const Dependency&, const Dependency&) = default;
};
// Between units, sorted, each once; those of distance 0 go forward in `program_order`.
std::vector<Dependency> DataFlowOf(const plan::GraphIndex& index, const Units& units);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_SIMULATE_DATA_FLOW_H_
