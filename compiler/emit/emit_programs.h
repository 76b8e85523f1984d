// EmitPrograms: the instructions of a graph's lanes.
//
// A unit becomes its wait, its steps, its signal. Both ends of a transfer stand together, and all
// parts of a collective: the waits of all, what they do, the signals of all, so that nothing comes
// between what shares a position.
#ifndef CGRAPH_COMPILER_EMIT_EMIT_PROGRAMS_H_
#define CGRAPH_COMPILER_EMIT_EMIT_PROGRAMS_H_

#include "compiler/emit/plan_numbers.h"
#include "compiler/emit/pools.h"
#include "compiler/graph/graph.h"
#include "compiler/schedule/ir.h"
#include "runtime/plan/plan.h"

namespace cgraph::emit {

void EmitPrograms(const graph::Graph& graph, const schedule::Schedule& schedule,
                  const PlanNumbers& numbers, Pools& pools, plan::Graph& out);

}  // namespace cgraph::emit

#endif  // CGRAPH_COMPILER_EMIT_EMIT_PROGRAMS_H_
