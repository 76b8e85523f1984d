// Operators and conditions: on numbers, on lists, on tensors.
#ifndef CGRAPH_COMPILER_CHECK_EXPRESSIONS_OPERATORS_H_
#define CGRAPH_COMPILER_CHECK_EXPRESSIONS_OPERATORS_H_

#include "compiler/check/scope/scope.h"

namespace cgraph::check {

StaticType BinaryType(Scope& scope, BinaryOperator op, const StaticType& a, const StaticType& b,
                      Range range);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_EXPRESSIONS_OPERATORS_H_
