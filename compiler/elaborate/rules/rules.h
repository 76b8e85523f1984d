// Rules: what a graph's `using` says about the calls that the graph makes.
#ifndef CGRAPH_COMPILER_ELABORATE_RULES_RULES_H_
#define CGRAPH_COMPILER_ELABORATE_RULES_RULES_H_

#include "compiler/graph/graph.h"
#include "compiler/program/program.h"

namespace cgraph::elaborate {

struct ElaborationContext;

// `graph` has all its calls, and no others.
graph::Rules ElaborateRules(ElaborationContext& elaboration, const program::Using& use,
                            const graph::Graph& graph);

// Warns of rules about methods that no graph calls: after all graphs.
void CheckSchedules(ElaborationContext& elaboration);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_RULES_RULES_H_
