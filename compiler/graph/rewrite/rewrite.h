// Rewrite: says with fewer or cheaper operations between devices what the program says.
//
// Each rewrite is a pass of its own with a name, can be turned off by it, and reports what it did.
// Results are the same to the last bit wherever collectives reduce in the order of the ranks, as
// ours do; a library that does not (NCCL) gives another rounding for either form.
#ifndef CGRAPH_COMPILER_GRAPH_REWRITE_REWRITE_H_
#define CGRAPH_COMPILER_GRAPH_REWRITE_REWRITE_H_

#include <span>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"

namespace cgraph {

// Where one was applied: the two ops that became one.
struct Rewritten {
  const char* rewrite;  // its name
  std::string graph;
  Range first, second;
};

// One row of rewrites.def.
struct RewriteInfo {
  const char* name;
  const char* what;
  void (*run)(graph::Graph& graph, std::vector<Rewritten>& done);
};
std::span<const RewriteInfo> Rewrites();

// All but those named in `off`; "all" turns all off.
std::vector<Rewritten> Rewrite(graph::Module& module, std::span<const std::string> off);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_GRAPH_REWRITE_REWRITE_H_
