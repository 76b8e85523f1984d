// Evaluates expressions; eval.h has a function for each kind of them.
#ifndef CGRAPH_COMPILER_ELABORATE_EXPRESSIONS_EVALUATE_H_
#define CGRAPH_COMPILER_ELABORATE_EXPRESSIONS_EVALUATE_H_

#include <optional>

#include "compiler/elaborate/frame.h"

namespace cgraph::elaborate {

struct ElaborationContext;

// Where an expression is evaluated.
struct Context {
  Frame& frame;
  Range range;
  Expected expected;
};

Value Evaluate(ElaborationContext& elaboration, program::ExprId id, Frame& frame,
               Expected expected = {});

// What is expected of each element, where a list is; else nothing.
Expected ElementExpected(const ElaborationContext& elaboration, const Context& context);

// `what` names the place of it, for messages.
std::optional<int64_t> EvaluateInt(ElaborationContext& elaboration, program::ExprId id,
                                   Frame& frame, const char* what);

std::optional<bool> EvaluateCondition(ElaborationContext& elaboration, program::ExprId id,
                                      Frame& frame);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_EXPRESSIONS_EVALUATE_H_
