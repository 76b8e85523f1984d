// Calls: what stands before the parentheses decides what is called.
#ifndef CGRAPH_COMPILER_CHECK_CALLS_CALL_H_
#define CGRAPH_COMPILER_CHECK_CALLS_CALL_H_

#include <string>

#include "compiler/check/scope/scope.h"

namespace cgraph::check {

// Reports, and resolves the arguments for what is wrong in them.
Value RefuseCall(Scope& scope, const syntax::CallExpr& node, Code code, Range at,
                 std::string message, Range range);

// Of a method that another of the same actor calls.
Value RefuseOwnMethod(Scope& scope, const syntax::CallExpr& node, Range at, Range range);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_CALLS_CALL_H_
