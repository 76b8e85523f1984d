// Where a body returns.
#ifndef CGRAPH_COMPILER_CHECK_STATEMENTS_RETURNS_H_
#define CGRAPH_COMPILER_CHECK_STATEMENTS_RETURNS_H_

#include <vector>

#include "compiler/check/scope/scope.h"

namespace cgraph::check {

// A `return` is the last thing that a body does, on every path that has one.
void CheckReturns(Scope& scope, const std::vector<syntax::StatementId>& ids, bool last);

bool EndsWithReturn(const Scope& scope, const std::vector<syntax::StatementId>& ids);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_STATEMENTS_RETURNS_H_
