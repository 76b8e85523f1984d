// Rule 14: graphs that share state compose.
#ifndef CGRAPH_RUNTIME_PLAN_PROVE_GRAPHS_H_
#define CGRAPH_RUNTIME_PLAN_PROVE_GRAPHS_H_

#include "runtime/plan/plan.h"
#include "runtime/plan/prove.h"

namespace cgraph::plan::prove {

Verdict CheckGraphs(const Plan& plan);

}  // namespace cgraph::plan::prove

#endif  // CGRAPH_RUNTIME_PLAN_PROVE_GRAPHS_H_
