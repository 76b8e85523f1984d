// Routes: the transport that a `via` names.
#ifndef CGRAPH_COMPILER_CHECK_EXPRESSIONS_ROUTES_H_
#define CGRAPH_COMPILER_CHECK_EXPRESSIONS_ROUTES_H_

#include <optional>

#include "compiler/check/scope/scope.h"

namespace cgraph::check {

std::optional<program::Route> ResolveRoute(Scope& scope, syntax::ExprId id);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_EXPRESSIONS_ROUTES_H_
