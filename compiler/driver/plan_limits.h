// What no plan can hold, said of the program before it is said of the plan.
#ifndef CGRAPH_COMPILER_DRIVER_PLAN_LIMITS_H_
#define CGRAPH_COMPILER_DRIVER_PLAN_LIMITS_H_

#include "compiler/base/diagnostics/diagnostics.h"
#include "compiler/graph/graph.h"
#include "runtime/plan/plan.h"

namespace cgraph {

// Reports (E0802) what would have more bytes than the compiler counts in: the states of all actors,
// or the values of a graph with its executions in flight. Asked before anything adds them up.
void CheckSizes(const graph::Module& module, Diagnostics& diagnostics);

// Reports (E0802) the graphs whose arenas have more bytes than a plan's may, all devices together.
void CheckArenas(const graph::Module& module, const plan::Plan& plan, Diagnostics& diagnostics);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_DRIVER_PLAN_LIMITS_H_
