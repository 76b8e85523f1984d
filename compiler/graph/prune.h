// Prune: removes the ops whose results are not read.
#ifndef CGRAPH_COMPILER_GRAPH_PRUNE_H_
#define CGRAPH_COMPILER_GRAPH_PRUNE_H_

#include <vector>

#include "compiler/graph/graph.h"

namespace cgraph::graph {

// Keeps what outputs depend on, what writes state, what may fail, what has an effect, and the last
// of each call that one of these comes `after`; renumbers the rest. Inputs stay. Returns the calls
// of which nothing was left, without those that only another such call read.
std::vector<Call> Prune(Graph& graph);

}  // namespace cgraph::graph

#endif  // CGRAPH_COMPILER_GRAPH_PRUNE_H_
