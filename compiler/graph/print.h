// Print a Graph.
#ifndef CGRAPH_COMPILER_GRAPH_PRINT_H_
#define CGRAPH_COMPILER_GRAPH_PRINT_H_

#include "compiler/graph/graph.h"
#include "llvm/Support/raw_ostream.h"

namespace cgraph {

std::string TypeText(const graph::Graph& graph, const graph::Type& type);  // "f32[n <= 64, 10]"
std::string CallName(const graph::Module& module, const graph::Call& call);  // "s[0].step (m = 3)"
// The same in backquotes, as diagnostics name it.
std::string CallText(const graph::Module& module, const graph::Call& call);

// What `--emit graph` shows: instances, then per graph its ops in program order, one line each.
void Print(const graph::Module& module, llvm::raw_ostream& out);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_GRAPH_PRINT_H_
