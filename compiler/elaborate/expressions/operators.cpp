#include "compiler/elaborate/expressions/evaluate.h"

#include <fmt/format.h>

#include "compiler/elaborate/budget.h"
#include "compiler/elaborate/calls/arguments.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/eval.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/ops/ops.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/values/arithmetic.h"
#include "compiler/elaborate/values/make.h"
#include "compiler/elaborate/values/quotients.h"
#include "compiler/program/text.h"

namespace cgraph::elaborate {
namespace {

program::Parts PartsOf(const Value& value) {
  if (value.As<Tuple>()) return program::Parts::kTuple;
  const List* const list = value.As<List>();
  if (list == nullptr) return program::Parts::kNone;
  const bool of_tuples = !list->items->empty() && list->items->front().As<Tuple>();
  return of_tuples ? program::Parts::kListOfTuples : program::Parts::kList;
}

// Says how arithmetic of lists and tuples is written, and how gradients are scaled without any.
std::string MendOfParts(BinaryOperator op, const Value& a, const Value& b) {
  const program::Parts of_a = PartsOf(a), of_b = PartsOf(b);
  const std::string mend = program::ArithmeticOfParts(op, of_a, of_b);
  if (mend.empty()) return "";
  const bool scales = op == BinaryOperator::kMultiply || op == BinaryOperator::kDivide;
  const bool by_one = of_a == program::Parts::kNone || of_b == program::Parts::kNone;
  return "; " + mend +
         (scales && by_one ? ", and an update of params scales gradients by its `scale:`" : "");
}

}  // namespace

Value ApplyOperator(ElaborationContext& elaboration, BinaryOperator op, const Actual& a,
                    const Actual& b, const Context& context) {
  if (a.value.poisoned() || b.value.poisoned()) return Value();
  const int64_t* begin = a.value.As<int64_t>();
  const int64_t* end = b.value.As<int64_t>();
  if (op == BinaryOperator::kRange && begin && end) return Value(IntRange{*begin, *end});
  bool lists = (a.value.As<List>() || a.value.As<IntRange>()) &&
               (b.value.As<List>() || b.value.As<IntRange>());
  if (op == BinaryOperator::kAdd && lists) {
    std::optional<std::vector<Value>> items = ListItems(elaboration, a.value, context.range);
    std::optional<std::vector<Value>> more = ListItems(elaboration, b.value, context.range);
    if (!items || !more ||
        !CheckListLength(elaboration, items->size() + more->size(), context.range)) {
      return Value();
    }
    items->insert(items->end(), more->begin(), more->end());
    return MakeList(elaboration, context.range, std::move(*items));
  }
  auto on_tensors = elaboration.program.operator_ops.find(op);
  if ((a.value.As<Tensor>() || b.value.As<Tensor>()) && MendOfParts(op, a.value, b.value).empty() &&
      on_tensors != elaboration.program.operator_ops.end()) {
    OpCall call{on_tensors->second, {a, b}};
    call.expected = context.expected;
    call.range = context.range;
    return CallOperation(elaboration, call);
  }
  Folded folded = FoldBinary(op, a.value, b.value);
  bool exact = op != BinaryOperator::kDivide || elaboration.arithmetic != ArithmeticMode::kDims ||
               !begin || !end;
  if (folded.value && !exact && *begin % *end != 0) {
    Report(elaboration, Code::kE0504, context.range,
           fmt::format("{} is not divisible by {}: a dimension must divide exactly", *begin, *end));
    return Value();
  }
  if (folded.value && op == BinaryOperator::kDivide && begin && end && *begin % *end != 0) {
    RememberQuotient(elaboration, context.range, *begin, *end);
  }
  if (folded.value && b.value.As<double>()) WarnOfQuotientAsFloat(elaboration, a.value, a.range);
  if (folded.value && a.value.As<double>()) WarnOfQuotientAsFloat(elaboration, b.value, b.range);
  if (folded.value) return *folded.value;
  if (!folded.problem.empty()) {
    Diagnostic& diagnostic =
        Report(elaboration, Code::kE0503, context.range,
               fmt::format("{} {} {}: {}", ScalarText(a.value), Spelling(op), ScalarText(b.value),
                           folded.problem));
    const bool divides = op == BinaryOperator::kDivide || op == BinaryOperator::kModulo;
    if (divides && end != nullptr && b.range.end - b.range.begin > 1) {
      diagnostic.AddNote(b.range, "this is 0; `/` of ints rounds down");
    }
  } else if (const std::string late =
                 LateText(elaboration, a.value) + LateText(elaboration, b.value);
             op == BinaryOperator::kRange && !late.empty()) {
    Report(elaboration, Code::kE0406, context.range,
           fmt::format("a range is of ints known at compile time, and {}; go up to the bound, and "
                       "leave out with where() what is beyond it",
                       late));
  } else {
    Report(elaboration, Code::kE0406, context.range,
           fmt::format("`{}` does not apply to {} and {}{}", Spelling(op),
                       Describe(elaboration, a.value), Describe(elaboration, b.value),
                       MendOfParts(op, a.value, b.value)));
  }
  return Value();
}

Value Eval(ElaborationContext& elaboration, const program::Unary& e, const Context& context) {
  Value operand = Evaluate(elaboration, e.operand, context.frame, context.expected);
  if (operand.poisoned()) return operand;
  if (operand.As<Tensor>()) {
    OpCall call{e.is_not ? elaboration.program.not_op : elaboration.program.negate_op};
    call.actuals = {{"", operand, elaboration.program.exprs[e.operand].range}};
    call.expected = context.expected;
    call.range = context.range;
    return CallOperation(elaboration, call);
  }
  if (e.is_not && operand.As<bool>()) return Value(!*operand.As<bool>());
  Folded folded = e.is_not ? Folded{} : FoldNegate(operand);
  if (folded.value) return *folded.value;
  if (!folded.problem.empty()) {
    Report(elaboration, Code::kE0503, context.range, folded.problem);
  } else {
    const std::string mend = e.is_not ? "" : program::NegationOfParts(PartsOf(operand));
    Report(elaboration, Code::kE0406, context.range,
           fmt::format("`{}` does not apply to {}{}", e.is_not ? "not" : "-",
                       Describe(elaboration, operand), mend.empty() ? "" : "; " + mend));
  }
  return Value();
}

Value Eval(ElaborationContext& elaboration, const program::Chain& e, const Context& context) {
  Range so_far = elaboration.program.exprs[e.operands[0]].range;
  Value value = Evaluate(elaboration, e.operands[0], context.frame, context.expected);
  for (size_t i = 0; i < e.operators.size(); ++i) {
    BinaryOperator op = e.operators[i];
    if (const bool* truth = value.As<bool>()) {  // what is decided is not evaluated further
      if (op == BinaryOperator::kAnd && !*truth) continue;
      if (op == BinaryOperator::kOr && *truth) continue;
    }
    program::ExprId right = e.operands[i + 1];
    bool arithmetic = op >= BinaryOperator::kAdd && op <= BinaryOperator::kModulo;
    Range right_range = elaboration.program.exprs[right].range;
    Value right_value =
        Evaluate(elaboration, right, context.frame, arithmetic ? context.expected : Expected());
    Actual a{"", value, so_far};
    Actual b{"", right_value, right_range};
    so_far.end = right_range.end;
    value = ApplyOperator(elaboration, op, a, b, {context.frame, so_far, context.expected});
  }
  return value;
}

Value Eval(ElaborationContext& elaboration, const program::If& e, const Context& context) {
  std::optional<bool> condition = EvaluateCondition(elaboration, e.condition, context.frame);
  if (!condition) return Value();
  return Evaluate(elaboration, *condition ? e.then_value : e.else_value, context.frame,
                  context.expected);
}

}  // namespace cgraph::elaborate
