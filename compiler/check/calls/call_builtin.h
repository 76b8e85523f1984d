// Calls of what is of the language, not of the library: zip, len, and functions of dimensions.
#ifndef CGRAPH_COMPILER_CHECK_CALLS_CALL_BUILTIN_H_
#define CGRAPH_COMPILER_CHECK_CALLS_CALL_BUILTIN_H_

#include <optional>
#include <string>

#include "compiler/check/scope/scope.h"

namespace cgraph::check {

// Of the language, not of the library; those after kLen are functions of dimensions.
std::optional<program::Builtin> FindBuiltin(const std::string& name);

// Whether it can stand only in types and in the clauses of an op.
bool IsOfDimensions(program::Builtin builtin);

Value ResolveBuiltinCall(Scope& scope, const syntax::CallExpr& node, program::Builtin builtin,
                  Range range);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_CALLS_CALL_BUILTIN_H_
