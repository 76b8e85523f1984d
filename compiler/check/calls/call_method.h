// Calls of methods of places.
#ifndef CGRAPH_COMPILER_CHECK_CALLS_CALL_METHOD_H_
#define CGRAPH_COMPILER_CHECK_CALLS_CALL_METHOD_H_

#include "compiler/check/scope/scope.h"

namespace cgraph::check {

Value ResolveMethodCall(Scope& scope, const syntax::CallExpr& node, const syntax::FieldExpr& callee,
                 Range range);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_CALLS_CALL_METHOD_H_
