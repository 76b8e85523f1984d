// Print Syntax.
#ifndef CGRAPH_COMPILER_SYNTAX_PRINT_H_
#define CGRAPH_COMPILER_SYNTAX_PRINT_H_

#include "compiler/syntax/syntax.h"
#include "llvm/Support/raw_ostream.h"

namespace cgraph {

// The tree as indented text, one node per line: what `--emit syntax` shows.
void Print(const syntax::File& file, llvm::raw_ostream& out);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_SYNTAX_PRINT_H_
