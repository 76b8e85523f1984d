// Calls of ops, fns and graphs.
#ifndef CGRAPH_COMPILER_CHECK_CALLS_CALL_DECLARED_H_
#define CGRAPH_COMPILER_CHECK_CALLS_CALL_DECLARED_H_

#include <string>

#include "compiler/check/scope/scope.h"

namespace cgraph::check {

Value ResolveOpCall(Scope& scope, const syntax::CallExpr& node, program::OpId id, Range range);

Value ResolveFnCall(Scope& scope, const syntax::CallExpr& node, program::FnId id, Range range);

Value ResolveGraphCall(Scope& scope, const syntax::CallExpr& node, program::GraphId id,
                       Range name_range, Range range);

// `what` is called, and takes no type.
void RefuseTypeArgument(Scope& scope, const syntax::CallExpr& node, const std::string& what);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_CALLS_CALL_DECLARED_H_
