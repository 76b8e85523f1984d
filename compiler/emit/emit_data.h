// EmitData: what a graph of a plan works on. Symbols, calls, buffers in their arenas, values in
// their buffers, channels, ports.
#ifndef CGRAPH_COMPILER_EMIT_EMIT_DATA_H_
#define CGRAPH_COMPILER_EMIT_EMIT_DATA_H_

#include "compiler/emit/plan_numbers.h"
#include "compiler/emit/pools.h"
#include "compiler/graph/graph.h"
#include "compiler/schedule/ir.h"
#include "runtime/plan/plan.h"

namespace cgraph::emit {

void EmitData(const graph::Module& module, const graph::Graph& graph,
              const schedule::Schedule& schedule, const PlanNumbers& numbers, Pools& pools,
              plan::Graph& out);

}  // namespace cgraph::emit

#endif  // CGRAPH_COMPILER_EMIT_EMIT_DATA_H_
