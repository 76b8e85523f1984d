// Insert: ops that a rewrite adds, each a call of its own right after one that is there.
#ifndef CGRAPH_COMPILER_GRAPH_REWRITE_INSERT_H_
#define CGRAPH_COMPILER_GRAPH_REWRITE_INSERT_H_

#include <vector>

#include "compiler/graph/graph.h"

namespace cgraph::graph {

// `op` has everything but its call; `call` stands for it. Its results name it only then.
struct Insertion {
  CallId after;
  Op op;
  Call call;
};
// Renumbers ops and calls. No rule speaks of what is new.
void Insert(Graph& graph, std::vector<Insertion> insertions);

}  // namespace cgraph::graph

#endif  // CGRAPH_COMPILER_GRAPH_REWRITE_INSERT_H_
