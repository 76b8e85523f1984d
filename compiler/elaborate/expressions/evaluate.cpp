#include "compiler/elaborate/expressions/evaluate.h"

#include <fmt/format.h>

#include "compiler/base/limits.h"
#include "compiler/elaborate/budget.h"
#include "compiler/elaborate/expressions/eval.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/work.h"
#include "llvm/Support/SaveAndRestore.h"

namespace cgraph::elaborate {

Value Evaluate(Work& work, program::ExprId id, Frame& frame, Expected expected) {
  const program::Expr& expr = work.program.exprs[id];
  if (!Step(work, expr.range)) return Value();
  if (work.budget.depth >= kMaxEvaluationDepth) {
    work.budget.stopped = true;
    Report(work, Code::kE0522, expr.range,
           "expressions and calls are nested too deep to elaborate");
    return Value();
  }
  llvm::SaveAndRestore<int> deeper(work.budget.depth, work.budget.depth + 1);
  const Context context{frame, expr.range, expected};
  return std::visit([&](const auto& node) { return Eval(work, node, context); }, expr.node);
}

Expected ElementExpected(const Work& work, const Context& context) {
  if (!context.expected.valid()) return {};
  const program::Type& type = work.program.types[context.expected.type];
  const auto* list = std::get_if<program::ListType>(&type.node);
  return list != nullptr ? Expected{list->element, context.expected.frame} : Expected{};
}

std::optional<int64_t> EvaluateInt(Work& work, program::ExprId id, Frame& frame, const char* what) {
  Value value = Evaluate(work, id, frame);
  if (const int64_t* number = value.As<int64_t>()) return *number;
  if (!value.poisoned()) {
    Report(work, Code::kE0406, work.program.exprs[id].range,
           fmt::format("{} must be an int known at compile time, not {}", what,
                       Describe(work, value)));
  }
  return std::nullopt;
}

std::optional<bool> EvaluateCondition(Work& work, program::ExprId id, Frame& frame) {
  Value value = Evaluate(work, id, frame);
  if (const bool* truth = value.As<bool>()) return *truth;
  if (!value.poisoned()) {
    Report(work, Code::kE0415, work.program.exprs[id].range,
           fmt::format("a condition must be a bool known at compile time, not {}",
                       Describe(work, value)));
  }
  return std::nullopt;
}

}  // namespace cgraph::elaborate
