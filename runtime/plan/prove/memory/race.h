// Rule 10: the accesses of one buffer are ordered, over all executions.
#ifndef CGRAPH_RUNTIME_PLAN_PROVE_MEMORY_RACE_H_
#define CGRAPH_RUNTIME_PLAN_PROVE_MEMORY_RACE_H_

#include "runtime/plan/graph_index.h"
#include "runtime/plan/prove.h"
#include "runtime/plan/prove/vector_clocks.h"

namespace cgraph::plan::prove {

// Rule 10: accesses of one buffer stand in program order, and before those of the execution that
// uses the same copy next.
Verdict CheckSameBuffer(const GraphIndex& index, const AccessTable& accesses,
                        const VectorClocks& clocks, const std::string& graph_name);

}  // namespace cgraph::plan::prove

#endif  // CGRAPH_RUNTIME_PLAN_PROVE_MEMORY_RACE_H_
