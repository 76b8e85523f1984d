#include "compiler/elaborate/expressions/evaluate.h"

#include <fmt/format.h>

#include "compiler/base/limits.h"
#include "compiler/elaborate/budget.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/eval.h"
#include "compiler/elaborate/report.h"
#include "llvm/Support/SaveAndRestore.h"

namespace cgraph::elaborate {

Value Evaluate(ElaborationContext& elaboration, program::ExprId id, Frame& frame,
               Expected expected) {
  const program::Expr& expr = elaboration.program.exprs[id];
  if (!Step(elaboration, expr.range)) return Value();
  if (elaboration.budget.depth >= kMaxEvaluationDepth) {
    elaboration.budget.stopped = true;
    Report(elaboration, Code::kE0522, expr.range,
           "expressions and calls are nested too deep to elaborate");
    return Value();
  }
  llvm::SaveAndRestore<int> deeper(elaboration.budget.depth, elaboration.budget.depth + 1);
  const Context context{frame, expr.range, expected};
  return std::visit([&](const auto& node) { return Eval(elaboration, node, context); }, expr.node);
}

Expected ElementExpected(const ElaborationContext& elaboration, const Context& context) {
  if (!context.expected.valid()) return {};
  const program::Type& type = elaboration.program.types[context.expected.type];
  const auto* list = std::get_if<program::ListType>(&type.node);
  return list != nullptr ? Expected{list->element, context.expected.frame} : Expected{};
}

Expected FieldExpected(const ElaborationContext& elaboration, const Context& context, size_t i) {
  if (!context.expected.valid()) return {};
  const program::Type& type = elaboration.program.types[context.expected.type];
  const auto* tuple = std::get_if<program::TupleType>(&type.node);
  if (tuple == nullptr || i >= tuple->fields.size()) return {};
  return {tuple->fields[i].type, context.expected.frame};
}

std::optional<int64_t> EvaluateInt(ElaborationContext& elaboration, program::ExprId id,
                                   Frame& frame, const char* what) {
  Value value = Evaluate(elaboration, id, frame);
  if (const int64_t* number = value.As<int64_t>()) return *number;
  if (!value.poisoned()) {
    const std::string late = LateText(elaboration, value);
    Report(elaboration, Code::kE0406, elaboration.program.exprs[id].range,
           fmt::format("{} must be an int known at compile time, {}", what,
                       late.empty() ? "not " + Describe(elaboration, value)
                                    : "and " + late +
                                          "; take the bound, and leave out with where() what is "
                                          "beyond it"));
  }
  return std::nullopt;
}

std::optional<bool> EvaluateCondition(ElaborationContext& elaboration, program::ExprId id,
                                      Frame& frame) {
  Value value = Evaluate(elaboration, id, frame);
  if (const bool* truth = value.As<bool>()) return *truth;
  if (!value.poisoned()) {
    Report(elaboration, Code::kE0415, elaboration.program.exprs[id].range,
           fmt::format("a condition must be a bool known at compile time, not {}{}",
                       Describe(elaboration, value),
                       value.As<Tensor>() ? ", whose value is known only while running: where(c, "
                                            "a, b) chooses then"
                                          : ""));
  }
  return std::nullopt;
}

}  // namespace cgraph::elaborate
