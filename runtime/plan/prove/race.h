// Rules 10 and 11: no buffer is touched while it is in use, over all executions.
#ifndef CGRAPH_RUNTIME_PLAN_PROVE_RACE_H_
#define CGRAPH_RUNTIME_PLAN_PROVE_RACE_H_

#include "runtime/plan/graph_index.h"
#include "runtime/plan/prove.h"
#include "runtime/plan/prove/vector_clocks.h"

namespace cgraph::plan::prove {

// Rule 10: accesses of one buffer stand in program order, and before those of the execution that
// uses the same copy next.
Verdict CheckSameBuffer(const GraphIndex& index, const AccessTable& accesses,
                        const VectorClocks& clocks, const std::string& graph_name);
// Whether a slot or scratch buffer is safe although its accesses do not stand in program order:
// each write and its reads keep together, so that nobody misses what another write left. (State,
// and what the caller has been given, must be right after the last access too.)
bool LivesInTurn(const GraphIndex& index, const AccessTable& accesses, const VectorClocks& clocks,
                 uint32_t buffer);
// Rule 11: of two buffers that overlap in an arena one is through with the memory before the other
// begins, in every copy.
Verdict CheckReuse(const GraphIndex& index, const AccessTable& accesses, const VectorClocks& clocks,
                   const std::string& graph_name);

// " for the next execution"; "" for the same one.
std::string Later(int64_t executions);

}  // namespace cgraph::plan::prove

#endif  // CGRAPH_RUNTIME_PLAN_PROVE_RACE_H_
