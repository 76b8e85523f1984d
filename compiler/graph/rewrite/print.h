// What rewrites did, for people.
#ifndef CGRAPH_COMPILER_GRAPH_REWRITE_PRINT_H_
#define CGRAPH_COMPILER_GRAPH_REWRITE_PRINT_H_

#include "compiler/base/source.h"
#include "compiler/graph/rewrite.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"

namespace cgraph {

// A line for each: its name, its graph, what it is, and the places of the program it is about.
void PrintRewrites(llvm::ArrayRef<Rewritten> rewritten, const Sources& sources,
                   llvm::raw_ostream& out);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_GRAPH_REWRITE_PRINT_H_
