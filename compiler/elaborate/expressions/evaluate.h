// Expressions, and what they are made of; eval.h has a function for each kind of them.
#ifndef CGRAPH_COMPILER_ELABORATE_EXPRESSIONS_EVALUATE_H_
#define CGRAPH_COMPILER_ELABORATE_EXPRESSIONS_EVALUATE_H_

#include <optional>
#include <vector>

#include "compiler/base/operators.h"
#include "compiler/base/transport.h"
#include "compiler/elaborate/calls/arguments.h"
#include "compiler/elaborate/frame.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

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

// What is expected of field `i`, where a tuple is; else nothing.
Expected FieldExpected(const ElaborationContext& elaboration, const Context& context, size_t i);

// `what` names the place of it, for messages.
std::optional<int64_t> EvaluateInt(ElaborationContext& elaboration, program::ExprId id,
                                   Frame& frame, const char* what);

std::optional<bool> EvaluateCondition(ElaborationContext& elaboration, program::ExprId id,
                                      Frame& frame);

// Operators: on numbers at compile time, on lists, on tensors as the ops of std.tensor that they
// mean.
Value ApplyOperator(ElaborationContext& elaboration, BinaryOperator op, const Actual& a,
                    const Actual& b, const Context& context);

// The elements of a list, a range or an array of places, written out.
std::optional<std::vector<Value>> ListItems(ElaborationContext& elaboration, const Value& value,
                                            Range range);
// The same, or the fields of a tuple.
std::optional<std::vector<Value>> ElementsOf(ElaborationContext& elaboration, const Value& value,
                                             Range range);

// ---- going through lists: `for`, comprehensions, and the patterns that take elements apart

// Runs `turn` once per element, with the name of the field where a tuple has one; false when it, or
// the list, failed.
bool Iterate(ElaborationContext& elaboration, const std::vector<program::LocalId>& pattern,
             bool tuple_pattern, program::ExprId list_id, Frame& frame,
             llvm::function_ref<bool(const std::string& field)> turn);

// `mend`: what to write where the value does not match.
bool BindPattern(ElaborationContext& elaboration, const std::vector<program::LocalId>& pattern,
                 bool tuple_pattern, const Value& value, Frame& frame, Range range,
                 const char* mend = "");

// x[i] and x[a..b] on a tensor: views of dimension 0.
//
// A view is a part of its base's bytes, so where it begins must be known while compiling: every
// dimension but those indexed away before it must be static.
Value IndexTensor(ElaborationContext& elaboration, const Tensor& tensor,
                  llvm::ArrayRef<Value> subscripts, Range range);

// `via` around a collective says how the collective goes, not where its results go next.
Value EvaluateVia(ElaborationContext& elaboration, program::ExprId base,
                  const TransportRequest& via, Frame& frame, Expected expected);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_EXPRESSIONS_EVALUATE_H_
