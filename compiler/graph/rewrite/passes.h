// The passes of rewrites.def, each in the file of its name; the two pairs of collectives share one.
#ifndef CGRAPH_COMPILER_GRAPH_REWRITE_PASSES_H_
#define CGRAPH_COMPILER_GRAPH_REWRITE_PASSES_H_

#include <vector>

#include "compiler/graph/rewrite.h"

namespace cgraph::graph {

#define REWRITE(function, name, what)                                                 \
  void function(const Module& module, const RewriteOptions& options, Graph& graph, \
                std::vector<Rewritten>& done);
#include "compiler/graph/rewrite/rewrites.def"

}  // namespace cgraph::graph

#endif  // CGRAPH_COMPILER_GRAPH_REWRITE_PASSES_H_
