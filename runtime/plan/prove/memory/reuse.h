// Rule 11: memory is reused only by buffers whose lifetimes never meet, over all executions.
#ifndef CGRAPH_RUNTIME_PLAN_PROVE_MEMORY_REUSE_H_
#define CGRAPH_RUNTIME_PLAN_PROVE_MEMORY_REUSE_H_

#include <cstdint>
#include <string>

#include "runtime/plan/graph_index.h"
#include "runtime/plan/prove.h"
#include "runtime/plan/prove/vector_clocks.h"

namespace cgraph::plan::prove {

// Whether a slot or scratch buffer is safe although its accesses do not stand in program order:
// each write and its reads keep together, so that nobody misses what another write left. (State,
// and what the caller has been given, must be right after the last access too.)
bool LivesInTurn(const GraphIndex& index, const AccessTable& accesses, const VectorClocks& clocks,
                 uint32_t buffer);
// Rule 11: of two buffers that overlap in an arena one is through with the memory before the other
// begins, in every copy.
Verdict CheckReuse(const GraphIndex& index, const AccessTable& accesses, const VectorClocks& clocks,
                   const std::string& graph_name);

}  // namespace cgraph::plan::prove

#endif  // CGRAPH_RUNTIME_PLAN_PROVE_MEMORY_REUSE_H_
