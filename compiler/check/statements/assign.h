// Assignments: to a `var`, a state, or an element of one.
#ifndef CGRAPH_COMPILER_CHECK_STATEMENTS_ASSIGN_H_
#define CGRAPH_COMPILER_CHECK_STATEMENTS_ASSIGN_H_

#include <optional>

#include "compiler/check/scope/scope.h"

namespace cgraph::check {

std::optional<program::Statement> ResolveAssign(Scope& scope, const syntax::Assign& node,
                                                Range range);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_STATEMENTS_ASSIGN_H_
