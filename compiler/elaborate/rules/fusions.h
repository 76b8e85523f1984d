// Fusions: which calls a rule `fuse A B` joins, and what is said of those that it leaves apart.
#ifndef CGRAPH_COMPILER_ELABORATE_RULES_FUSIONS_H_
#define CGRAPH_COMPILER_ELABORATE_RULES_FUSIONS_H_

#include <optional>
#include <utility>
#include <vector>

#include "compiler/elaborate/rules/call_variables.h"

namespace cgraph::elaborate {

// Pairs calls of one place in which the loop variables that all calls of both kinds have are the
// same, each call once, in program order. Warns of calls that find no other. `removed`: a call of
// the first kind that the graph has no more; null: there is none. Nothing: an error was reported.
std::optional<std::vector<std::pair<graph::CallId, graph::CallId>>> PairCalls(
    ElaborationContext& elaboration, const CallVariables& variables,
    const program::Schedule& schedule, const program::FuseRule& rule, const graph::Graph& graph,
    const graph::Rules& rules, const graph::Call* removed);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_RULES_FUSIONS_H_
