// Rule 15: a symbol is one number in an execution, wherever it is read.
#ifndef CGRAPH_RUNTIME_PLAN_PROVE_EXTENTS_H_
#define CGRAPH_RUNTIME_PLAN_PROVE_EXTENTS_H_

#include <string>

#include "runtime/plan/graph_index.h"
#include "runtime/plan/prove.h"

namespace cgraph::plan::prove {

// Needs a plan that keeps rules 10 and 11, and messages that are indexed.
Verdict CheckOneExtent(const GraphIndex& index, const AccessTable& accesses,
                       const std::string& graph_name);

}  // namespace cgraph::plan::prove

#endif  // CGRAPH_RUNTIME_PLAN_PROVE_EXTENTS_H_
