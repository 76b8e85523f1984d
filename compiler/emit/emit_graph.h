// EmitGraph: one graph and its schedule -> one plan graph.
#ifndef CGRAPH_COMPILER_EMIT_EMIT_GRAPH_H_
#define CGRAPH_COMPILER_EMIT_EMIT_GRAPH_H_

#include <memory>
#include <vector>

#include "compiler/emit/pools.h"
#include "compiler/graph/graph.h"
#include "compiler/schedule/schedule.h"
#include "runtime/plan/plan.h"

namespace cgraph::emit {

// How the plan numbers what its graphs share.
struct PlanNumbers {
  std::vector<uint32_t> lanes;          // by the schedule's lane
  uint32_t plan_lanes = 0;              // of the whole plan
  std::vector<uint32_t> groups;         // communicators, by group
  std::vector<uint32_t> communicators;  // by channel; kNone of those that are not nccl's
};

std::unique_ptr<plan::Graph> EmitGraph(const graph::Module& module, const graph::Graph& graph,
                                       const schedule::Schedule& schedule,
                                       const PlanNumbers& numbers, Pools& pools);

}  // namespace cgraph::emit

#endif  // CGRAPH_COMPILER_EMIT_EMIT_GRAPH_H_
