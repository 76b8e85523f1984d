// Clauses behind a signature: what an op or a method in native code costs, and which native code it
// is.
#ifndef CGRAPH_COMPILER_CHECK_CLAUSES_H_
#define CGRAPH_COMPILER_CHECK_CLAUSES_H_

#include <vector>

#include "compiler/check/checker.h"
#include "compiler/syntax/syntax.h"

namespace cgraph::check {

// cost(flops: e, bytes: e)
void ResolveCost(Scope& scope, const std::vector<syntax::Argument>& cost, program::ExprId& flops,
                 program::ExprId& bytes);

// = extern "library:symbol", with the states that it names, else all of the actor's.
void ResolveExtern(Checker& checker, program::MethodId id);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_CLAUSES_H_
