// The expressions inside strings are parsed by a parser of their own.
#ifndef CGRAPH_COMPILER_SYNTAX_BUILD_PARSE_HOLE_H_
#define CGRAPH_COMPILER_SYNTAX_BUILD_PARSE_HOLE_H_

#include "compiler/syntax/antlr.h"
#include "compiler/syntax/errors/errors.h"
#include "llvm/ADT/STLExtras.h"

namespace cgraph::syntax {

// Parses bytes [begin, end) as one expression and hands its tree to `use`, which it outlives not.
// After an error, which is reported, `use` is not called.
void ParseHole(uint32_t begin, uint32_t end, SyntaxErrors& errors,
               llvm::function_ref<void(Grammar::ExprContext*)> use);

}  // namespace cgraph::syntax

#endif  // CGRAPH_COMPILER_SYNTAX_BUILD_PARSE_HOLE_H_
