// Operators: on numbers at compile time, on lists, on tensors as the ops of std.tensor that they
// mean.
#ifndef CGRAPH_COMPILER_ELABORATE_EXPRESSIONS_OPERATORS_H_
#define CGRAPH_COMPILER_ELABORATE_EXPRESSIONS_OPERATORS_H_

#include "compiler/base/operators.h"
#include "compiler/elaborate/calls/arguments.h"
#include "compiler/elaborate/expressions/evaluate.h"

namespace cgraph::elaborate {

struct ElaborationContext;

Value ApplyOperator(ElaborationContext& elaboration, BinaryOperator op, const Actual& a,
                    const Actual& b, const Context& context);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_EXPRESSIONS_OPERATORS_H_
