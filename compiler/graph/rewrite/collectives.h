// Pairs of collectives that are one: see rewrites.def.
#ifndef CGRAPH_COMPILER_GRAPH_REWRITE_COLLECTIVES_H_
#define CGRAPH_COMPILER_GRAPH_REWRITE_COLLECTIVES_H_

#include <vector>

#include "compiler/graph/rewrite/rewrite.h"

namespace cgraph::graph {

void RewriteReduceBroadcast(Graph& graph, std::vector<Rewritten>& done);
void RewriteScatterGather(Graph& graph, std::vector<Rewritten>& done);

}  // namespace cgraph::graph

#endif  // CGRAPH_COMPILER_GRAPH_REWRITE_COLLECTIVES_H_
