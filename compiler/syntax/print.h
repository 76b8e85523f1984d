// Print and validate Syntax.
#ifndef CGRAPH_COMPILER_SYNTAX_PRINT_H_
#define CGRAPH_COMPILER_SYNTAX_PRINT_H_

#include "compiler/syntax/syntax.h"
#include "llvm/Support/raw_ostream.h"

namespace cgraph {

// The tree as indented text, one node per line: what `--emit syntax` shows.
void Print(const syntax::File& file, llvm::raw_ostream& out);

// CHECKs what Parse promises: ids in range, no node reached twice, ranges inside the source and
// nested in their parents', chains of one strength. Aborts with the phase's name on a bug of ours.
void Validate(const syntax::File& file);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_SYNTAX_PRINT_H_
