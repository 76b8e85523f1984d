// EmitGraph: one graph and its schedule -> one plan graph.
#ifndef CGRAPH_COMPILER_EMIT_EMIT_GRAPH_H_
#define CGRAPH_COMPILER_EMIT_EMIT_GRAPH_H_

#include <memory>

#include "compiler/emit/plan_numbers.h"
#include "compiler/emit/pools.h"
#include "compiler/graph/graph.h"
#include "compiler/schedule/ir.h"
#include "runtime/plan/plan.h"

namespace cgraph::emit {

std::unique_ptr<plan::Graph> EmitGraph(const graph::Module& module, const graph::Graph& graph,
                                       const schedule::Schedule& schedule,
                                       const PlanNumbers& numbers, Pools& pools);

}  // namespace cgraph::emit

#endif  // CGRAPH_COMPILER_EMIT_EMIT_GRAPH_H_
