// Operators and conditions: on numbers, on lists, on tensors.
#ifndef CGRAPH_COMPILER_CHECK_EXPRESSIONS_OPERATORS_H_
#define CGRAPH_COMPILER_CHECK_EXPRESSIONS_OPERATORS_H_

#include "compiler/check/scope/scope.h"

namespace cgraph::check {

Static BinaryType(Scope& scope, BinaryOperator op, const Static& a, const Static& b, Range range);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_EXPRESSIONS_OPERATORS_H_
