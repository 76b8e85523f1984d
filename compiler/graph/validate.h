// Validate a Graph.
#ifndef CGRAPH_COMPILER_GRAPH_VALIDATE_H_
#define CGRAPH_COMPILER_GRAPH_VALIDATE_H_

#include "compiler/graph/graph.h"

namespace cgraph {

// CHECKs what Elaborate promises: ids in range, single assignment, operands made before they are
// used, views inside their base, ops of a call contiguous and on its device, state touched only by
// ops on its instance's device, an extent for every symbol. `phase`: who made it, for the message.
void Validate(const graph::Module& module, const char* phase);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_GRAPH_VALIDATE_H_
