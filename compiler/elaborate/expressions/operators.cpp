#include "compiler/elaborate/expressions/operators.h"

#include <fmt/format.h>

#include "compiler/elaborate/budget.h"
#include "compiler/elaborate/calls/arguments.h"
#include "compiler/elaborate/expressions/eval.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/expressions/lists.h"
#include "compiler/elaborate/ops/call_op.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/values/arithmetic.h"
#include "compiler/elaborate/work.h"

namespace cgraph::elaborate {

Value ApplyOperator(Work& work, BinaryOperator op, const Actual& a, const Actual& b,
                    const Context& context) {
  if (a.value.poisoned() || b.value.poisoned()) return Value();
  const int64_t* begin = a.value.As<int64_t>();
  const int64_t* end = b.value.As<int64_t>();
  if (op == BinaryOperator::kRange && begin && end) return Value(IntRange{*begin, *end});
  bool lists = (a.value.As<List>() || a.value.As<IntRange>()) &&
               (b.value.As<List>() || b.value.As<IntRange>());
  if (op == BinaryOperator::kAdd && lists) {
    std::optional<std::vector<Value>> items = ListItems(work, a.value, context.range);
    std::optional<std::vector<Value>> more = ListItems(work, b.value, context.range);
    if (!items || !more || !CheckListLength(work, items->size() + more->size(), context.range)) {
      return Value();
    }
    items->insert(items->end(), more->begin(), more->end());
    return MakeList(std::move(*items));
  }
  auto on_tensors = work.program.operator_ops.find(op);
  if ((a.value.As<Tensor>() || b.value.As<Tensor>()) &&
      on_tensors != work.program.operator_ops.end()) {
    OpCall call{on_tensors->second, {a, b}};
    call.expected = context.expected;
    call.range = context.range;
    return CallOperation(work, call);
  }
  Folded folded = FoldBinary(op, a.value, b.value);
  bool exact = op != BinaryOperator::kDivide || work.numbers != Numbers::kDims || !begin || !end;
  if (folded.value && !exact && *begin % *end != 0) {
    Report(work, Code::kE0504, context.range,
           fmt::format("{} is not divisible by {}: a dimension must divide exactly", *begin, *end));
    return Value();
  }
  if (folded.value) return *folded.value;
  if (!folded.problem.empty()) {
    Report(work, Code::kE0503, context.range,
           fmt::format("{} {} {}: {}", ScalarText(a.value), Spelling(op), ScalarText(b.value),
                       folded.problem));
  } else {
    Report(work, Code::kE0406, context.range,
           fmt::format("`{}` does not apply to {} and {}", Spelling(op), Describe(work, a.value),
                       Describe(work, b.value)));
  }
  return Value();
}

Value Eval(Work& work, const program::Unary& e, const Context& context) {
  Value operand = Evaluate(work, e.operand, context.frame, context.expected);
  if (operand.poisoned()) return operand;
  if (operand.As<Tensor>()) {
    OpCall call{e.is_not ? work.program.not_op : work.program.negate_op};
    call.actuals = {{"", operand, work.program.exprs[e.operand].range}};
    call.expected = context.expected;
    call.range = context.range;
    return CallOperation(work, call);
  }
  if (e.is_not && operand.As<bool>()) return Value(!*operand.As<bool>());
  Folded folded = e.is_not ? Folded{} : FoldNegate(operand);
  if (folded.value) return *folded.value;
  if (!folded.problem.empty()) {
    Report(work, Code::kE0503, context.range, folded.problem);
  } else {
    Report(
        work, Code::kE0406, context.range,
        fmt::format("`{}` does not apply to {}", e.is_not ? "not" : "-", Describe(work, operand)));
  }
  return Value();
}

Value Eval(Work& work, const program::Chain& e, const Context& context) {
  Range so_far = work.program.exprs[e.operands[0]].range;
  Value value = Evaluate(work, e.operands[0], context.frame, context.expected);
  for (size_t i = 0; i < e.operators.size(); ++i) {
    BinaryOperator op = e.operators[i];
    if (const bool* truth = value.As<bool>()) {  // what is decided is not evaluated further
      if (op == BinaryOperator::kAnd && !*truth) continue;
      if (op == BinaryOperator::kOr && *truth) continue;
    }
    program::ExprId right = e.operands[i + 1];
    bool arithmetic = op >= BinaryOperator::kAdd && op <= BinaryOperator::kModulo;
    Range right_range = work.program.exprs[right].range;
    Value right_value =
        Evaluate(work, right, context.frame, arithmetic ? context.expected : Expected());
    Actual a{"", value, so_far};
    Actual b{"", right_value, right_range};
    so_far.end = right_range.end;
    value = ApplyOperator(work, op, a, b, {context.frame, so_far, context.expected});
  }
  return value;
}

Value Eval(Work& work, const program::If& e, const Context& context) {
  std::optional<bool> condition = EvaluateCondition(work, e.condition, context.frame);
  if (!condition) return Value();
  return Evaluate(work, *condition ? e.then_value : e.else_value, context.frame, context.expected);
}

}  // namespace cgraph::elaborate
