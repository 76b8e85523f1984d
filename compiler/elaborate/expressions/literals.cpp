// Evaluation of literals, tuples and lists.
#include <fmt/format.h>

#include "compiler/base/limits.h"
#include "compiler/elaborate/budget.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/eval.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/values/make.h"

namespace cgraph::elaborate {

Value Eval(ElaborationContext&, const program::IntLiteral& e, const Context&) {
  return Value(e.value);
}

Value Eval(ElaborationContext&, const program::FloatLiteral& e, const Context&) {
  return Value(e.value);
}

Value Eval(ElaborationContext&, const program::BoolLiteral& e, const Context&) {
  return Value(e.value);
}

Value Eval(ElaborationContext&, const program::NoneLiteral&, const Context&) {
  return Value(None());
}

Value Eval(ElaborationContext& elaboration, const program::StringLiteral& e,
           const Context& context) {
  std::string text = e.texts[0];
  for (size_t i = 0; i < e.exprs.size(); ++i) {
    Value value = Evaluate(elaboration, e.exprs[i], context.frame);
    if (value.poisoned()) return value;
    if (const std::string* part = value.As<std::string>()) {
      text += *part;
    } else if (IsNumber(value)) {
      text += ScalarText(value);
    } else {
      Report(elaboration, Code::kE0406, elaboration.program.exprs[e.exprs[i]].range,
             fmt::format("a string interpolates scalars known at compile time, not {}",
                         Describe(elaboration, value)));
      return Value();
    }
    text += e.texts[i + 1];
    if (text.size() > kMaxStringBytes) {
      Report(elaboration, Code::kE0521, context.range,
             fmt::format("a string of more than {} bytes", kMaxStringBytes));
      return Value();
    }
  }
  return MakeString(elaboration, context.range, std::move(text));
}

Value Eval(ElaborationContext& elaboration, const program::Tuple& e, const Context& context) {
  std::vector<std::string> names;
  std::vector<Value> values;
  for (size_t i = 0; i < e.fields.size(); ++i) {
    const Expected expected = FieldExpected(elaboration, context, i);
    values.push_back(Evaluate(elaboration, e.fields[i].value, context.frame, expected));
    names.push_back(e.fields[i].label);
  }
  return MakeTuple(elaboration, context.range, std::move(names), std::move(values));
}

Value Eval(ElaborationContext& elaboration, const program::List& e, const Context& context) {
  const Expected expected = ElementExpected(elaboration, context);
  std::vector<Value> items;
  for (program::ExprId item : e.items)
    items.push_back(Evaluate(elaboration, item, context.frame, expected));
  return MakeList(elaboration, context.range, std::move(items));
}

}  // namespace cgraph::elaborate
