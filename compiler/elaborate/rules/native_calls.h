// Native code that makes a schedule powerless.
#ifndef CGRAPH_COMPILER_ELABORATE_RULES_NATIVE_CALLS_H_
#define CGRAPH_COMPILER_ELABORATE_RULES_NATIVE_CALLS_H_

#include "compiler/graph/rules.h"

namespace cgraph::graph {
struct Graph;
}
namespace cgraph::elaborate {

struct ElaborationContext;

// Warns, once for an actor, where the calls of a place are several actions and keep program order
// whatever the rules say.
void WarnOfNativeCode(ElaborationContext& elaboration, const graph::Graph& graph,
                      const graph::Rules& rules);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_RULES_NATIVE_CALLS_H_
