// EmitGraph: one graph and its schedule -> one plan graph, in two steps.
#ifndef CGRAPH_COMPILER_EMIT_EMIT_GRAPH_H_
#define CGRAPH_COMPILER_EMIT_EMIT_GRAPH_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "compiler/base/transport.h"
#include "compiler/emit/pools.h"
#include "compiler/graph/graph.h"
#include "compiler/schedule/ir.h"
#include "runtime/plan/plan.h"

namespace cgraph::emit {

// How the plan numbers what its graphs share.
struct PlanNumbers {
  std::vector<uint32_t> lanes;          // by the schedule's lane
  uint32_t plan_lanes = 0;              // of the whole plan
  std::vector<uint32_t> groups;         // communicators, by group
  // By channel: its number in the graph, kNone of those whose messages are broadcasts; and its
  // communicator, kNone of those that are not nccl's.
  std::vector<uint32_t> channels, communicators;
};

std::unique_ptr<plan::Graph> EmitGraph(const graph::Module& module, const graph::Graph& graph,
                                       const schedule::Schedule& schedule,
                                       const PlanNumbers& numbers, Pools& pools);

// EmitData: what a graph of a plan works on. Symbols, calls, buffers in their arenas, values in
// their buffers, channels, ports.
void EmitData(const graph::Module& module, const graph::Graph& graph,
              const schedule::Schedule& schedule, const PlanNumbers& numbers, Pools& pools,
              plan::Graph& out);

// EmitPrograms: the instructions of a graph's lanes.
//
// A unit becomes its wait, its steps, its signal. Both ends of a transfer stand together, and all
// parts of a collective: the waits of all, what they do, the signals of all, so that nothing comes
// between what shares a position.
void EmitPrograms(const graph::Graph& graph, const schedule::Schedule& schedule,
                  const PlanNumbers& numbers, Pools& pools, plan::Graph& out);

}  // namespace cgraph::emit

#endif  // CGRAPH_COMPILER_EMIT_EMIT_GRAPH_H_
