#include "compiler/elaborate/ops/ops.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/types/dims.h"
#include "compiler/program/text.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SaveAndRestore.h"

namespace cgraph::elaborate {
namespace {

bool AnyUnknown(llvm::ArrayRef<graph::Dim> dims) {
  return llvm::any_of(dims, [](const graph::Dim& dim) { return dim.symbol.valid(); });
}

// Evaluates a condition. For two dimensions `==` asks whether they are the same one, also where
// that is known only while running.
std::optional<bool> Holds(ElaborationContext& elaboration, program::ExprId where, Frame& op_frame) {
  auto* chain = std::get_if<program::Chain>(&elaboration.program.exprs[where].node);
  if (chain && chain->operators[0] == BinaryOperator::kAnd) {
    for (program::ExprId operand : chain->operands) {
      std::optional<bool> holds = Holds(elaboration, operand, op_frame);
      if (!holds || !*holds) return holds;
    }
    return true;
  }
  if (chain && chain->operators.size() == 1 && chain->operators[0] == BinaryOperator::kEqual &&
      IsRun(elaboration, chain->operands[0], op_frame)) {
    std::optional<Dims> a = EvaluateRun(elaboration, chain->operands[0], op_frame);
    std::optional<Dims> b =
        a ? EvaluateRun(elaboration, chain->operands[1], op_frame) : std::nullopt;
    if (!b ||
        (elaboration.speculative && a->size() == b->size() && (AnyUnknown(*a) || AnyUnknown(*b)))) {
      return std::nullopt;
    }
    return *a == *b;
  }
  if (chain && chain->operators.size() == 1 && chain->operators[0] == BinaryOperator::kEqual) {
    program::ExprId left = Reduce(elaboration, chain->operands[0], op_frame);
    program::ExprId right = Reduce(elaboration, chain->operands[1], op_frame);
    if (std::holds_alternative<program::DimRef>(elaboration.program.exprs[left].node) &&
        std::holds_alternative<program::DimRef>(elaboration.program.exprs[right].node)) {
      std::optional<graph::Dim> a = EvaluateDim(elaboration, left, op_frame);
      std::optional<graph::Dim> b = EvaluateDim(elaboration, right, op_frame);
      if (!a || !b || (elaboration.speculative && (AnyUnknown({*a, *b})))) return std::nullopt;
      return *a == *b;
    }
  }
  llvm::SaveAndRestore<ArithmeticMode> arithmetic(elaboration.arithmetic, ArithmeticMode::kDims);
  return EvaluateCondition(elaboration, where, op_frame);
}

// Returns the first of the conditions joined by `and` that does not hold.
program::ExprId Failing(ElaborationContext& elaboration, program::ExprId where, Frame& op_frame) {
  auto* chain = std::get_if<program::Chain>(&elaboration.program.exprs[where].node);
  if (!chain || chain->operators[0] != BinaryOperator::kAnd) return where;
  for (program::ExprId operand : chain->operands) {
    const std::optional<bool> holds = Holds(elaboration, operand, op_frame);
    if (holds && !*holds) return Failing(elaboration, operand, op_frame);
  }
  return where;
}

// Side: a dimension variable that an `==` of two compares, with what it was bound to; none where it
// compares anything else.
struct Side {
  std::string name;  // "dimension 1 of `a`", or the variable where no parameter bound it
  const BoundDims* bound;
};

// Returns which dimension of `parameter` the variable is, for a value of that rank; none where a
// run of dimensions stands on both sides of it.
std::optional<size_t> PositionOf(const ElaborationContext& elaboration,
                                 const program::Parameter& parameter,
                                 program::DimVariableId variable, size_t rank) {
  const auto* type =
      std::get_if<program::TensorType>(&elaboration.program.types[parameter.type].node);
  if (type == nullptr) return std::nullopt;
  const auto& dims = type->dims;
  const auto is_run = [](const program::Dim& dim) { return dim.kind == program::Dim::kRun; };
  for (size_t i = 0; i < dims.size(); ++i) {
    if (is_run(dims[i]) || !(dims[i].variable == variable)) continue;
    if (std::none_of(dims.begin(), dims.begin() + i, is_run)) return i;
    if (std::any_of(dims.begin() + i, dims.end(), is_run)) return std::nullopt;
    return rank - (dims.size() - i);
  }
  return std::nullopt;
}

std::string NameOfSide(ElaborationContext& elaboration, program::DimVariableId variable,
                       const Frame& op_frame) {
  const BoundDims& bound = *op_frame.dims[variable.index];
  for (const program::Parameter& parameter : op_frame.signature->parameters) {
    if (bound.from == nullptr || parameter.name != *bound.from) continue;
    const Tensor* tensor = op_frame.locals[parameter.local.index]->As<Tensor>();
    if (tensor == nullptr) break;
    const size_t rank = elaboration.builder->type(tensor->value).dims.size();
    if (const auto position = PositionOf(elaboration, parameter, variable, rank)) {
      return fmt::format("dimension {} of `{}`", *position, parameter.name);
    }
  }
  return op_frame.signature->dim_variables[variable].name;
}

std::vector<Side> SidesOf(ElaborationContext& elaboration, program::ExprId where, Frame& op_frame) {
  auto* chain = std::get_if<program::Chain>(&elaboration.program.exprs[where].node);
  std::vector<Side> sides;
  if (!chain || chain->operators.size() != 1 || chain->operators[0] != BinaryOperator::kEqual) {
    return {};
  }
  for (program::ExprId operand : chain->operands) {
    if (IsRun(elaboration, operand, op_frame)) return {};
    auto* dim = std::get_if<program::DimRef>(
        &elaboration.program.exprs[Reduce(elaboration, operand, op_frame)].node);
    if (!dim || !op_frame.dims[dim->variable.index]) return {};
    sides.push_back({NameOfSide(elaboration, dim->variable, op_frame),
                     &*op_frame.dims[dim->variable.index]});
  }
  return sides;
}

// Returns what the sides of a comparison of numbers are, ", where c is 4 and i * groups is 3";
// nothing of any other condition.
std::string ComparedNumbers(ElaborationContext& elaboration, const program::TextPrinter& printer,
                            program::ExprId where, Frame& op_frame) {
  auto* chain = std::get_if<program::Chain>(&elaboration.program.exprs[where].node);
  if (!chain || chain->operators.size() != 1 || !IsComparison(chain->operators[0])) return "";
  llvm::SaveAndRestore<ArithmeticMode> arithmetic(elaboration.arithmetic, ArithmeticMode::kDims);
  std::string text;
  for (const program::ExprId operand : chain->operands) {
    if (IsRun(elaboration, operand, op_frame)) return "";
    const Value value = Evaluate(elaboration, operand, op_frame);
    if (!value.As<int64_t>() && !value.As<double>()) return "";
    const std::string name = printer.Text(Reduce(elaboration, operand, op_frame));
    if (name == ScalarText(value)) continue;
    text += fmt::format("{}{} is {}", text.empty() ? ", where " : " and ", name, ScalarText(value));
  }
  return text;
}

// Returns what to do where a condition is `not bounded(e)`; nothing of any other condition.
std::string KnownExtent(ElaborationContext& elaboration, const program::TextPrinter& printer,
                        program::ExprId where, Frame& op_frame) {
  const auto& exprs = elaboration.program.exprs;
  const auto* negation = std::get_if<program::Unary>(&exprs[where].node);
  if (negation == nullptr || !negation->is_not) return "";
  const auto* call = std::get_if<program::CallBuiltin>(&exprs[negation->operand].node);
  if (call == nullptr || call->builtin != program::Builtin::kBounded) return "";
  const program::ExprId of = call->arguments[0].value;
  const bool is_one = std::holds_alternative<program::DimRef>(exprs[of].node) &&
                      !IsRun(elaboration, of, op_frame);
  if (!is_one) return "";
  const std::optional<graph::Dim> dim = EvaluateDim(elaboration, of, op_frame);
  if (!dim || !dim->symbol.valid()) return "";
  return fmt::format("; `{}` is known only while running (at most {}), and must be known while "
                     "compiling: write its number",
                     printer.Text(of), dim->extent);
}

// Returns what a parameter was given: a type, a number, a short list of numbers.
std::string GivenText(ElaborationContext& elaboration, const Value& value) {
  if (value.As<Tensor>()) return Describe(elaboration, value);
  const List* list = value.As<List>();
  if (list == nullptr || list->items->size() > 4) return ScalarText(value);
  std::vector<std::string> items;
  for (const Value& item : *list->items) items.push_back(ScalarText(item));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

std::string SideText(const Side& side) {
  const graph::Dim& dim = side.bound->dims[0];
  return fmt::format("{} is {}{}", side.name, dim.symbol.valid() ? "at most " : "", dim.extent);
}

}  // namespace

bool ApplyWhere(ElaborationContext& elaboration, const OpCall& call, Frame& op_frame) {
  const program::Op& op = elaboration.program.ops[call.op];
  if (!op.where.valid()) return true;
  std::optional<bool> holds = Holds(elaboration, op.where, op_frame);
  if (!holds || *holds) return holds.has_value();
  const program::ExprId where = Failing(elaboration, op.where, op_frame);
  std::string given;
  for (size_t i = 0; i < op.signature.parameters.size(); ++i) {
    const program::Parameter& parameter = op.signature.parameters[i];
    if (parameter.default_value.valid() && !ActualFor(i, call.actuals)) continue;
    const Value& value = *op_frame.locals[parameter.local.index];
    given += fmt::format("{}{} is {}", given.empty() ? "" : ", ", parameter.name,
                         GivenText(elaboration, value));
  }
  const program::TextPrinter printer(elaboration.program, &op.signature, &op.locals);
  std::string needed = printer.Text(where);
  auto* chain = std::get_if<program::Chain>(&elaboration.program.exprs[where].node);
  if (chain && chain->operators.size() == 1 &&
      chain->operators[0] == BinaryOperator::kEqual) {  // without what is decided already
    needed =
        fmt::format("{} == {}", printer.Text(Reduce(elaboration, chain->operands[0], op_frame)),
                    printer.Text(Reduce(elaboration, chain->operands[1], op_frame)));
  }
  const std::vector<Side> sides = SidesOf(elaboration, where, op_frame);
  std::string message = fmt::format("`{}` does not take these: {}", op.name, given);
  const std::string known = KnownExtent(elaboration, printer, where, op_frame);
  if (!known.empty()) {
    message += known;
  } else if (sides.empty()) {
    message += ", and it needs " + needed + ComparedNumbers(elaboration, printer, where, op_frame);
  } else {
    message += fmt::format("; {} and {}, and they must be equal", SideText(sides[0]),
                           SideText(sides[1]));
  }
  Diagnostic& diagnostic = Report(elaboration, Code::kE0517, call.range, std::move(message));
  for (const Side& side : sides) {
    if (side.bound->from == nullptr) continue;
    diagnostic.AddNote(side.bound->range, SideText(side));
  }
  diagnostic.AddNote(op.range, "declared here");
  return false;
}

bool CheckSame(ElaborationContext& elaboration, const OpCall& call, Frame& op_frame) {
  const program::Op& op = elaboration.program.ops[call.op];
  auto argument = [&](size_t parameter) -> const Value& {
    return *op_frame.locals[op.signature.parameters[parameter].local.index];
  };
  auto dims_of = [&](size_t parameter) -> const std::vector<graph::Dim>& {
    return elaboration.builder->type(argument(parameter).As<Tensor>()->value).dims;
  };
  const int64_t dim = *argument(2).As<int64_t>();
  const int64_t ranks[] = {static_cast<int64_t>(dims_of(0).size()),
                           static_cast<int64_t>(dims_of(1).size())};
  if (dim < 0 || dim >= std::min(ranks[0], ranks[1])) {
    Report(elaboration, Code::kE0507, call.range,
           fmt::format("`{}`: two tensors with {} and {} dimensions have no dimension {} both",
                       op.name, ranks[0], ranks[1], dim));
    return false;
  }
  const graph::Dim x = dims_of(0)[dim], y = dims_of(1)[dim];
  const bool possible =
      (x.symbol.valid() || x.extent <= y.extent) && (y.symbol.valid() || y.extent <= x.extent);
  if (possible || elaboration.speculative) return true;
  auto text = [](const graph::Dim& d) {
    return d.symbol.valid() ? fmt::format("at most {}", d.extent) : std::to_string(d.extent);
  };
  Report(elaboration, Code::kE0507, call.range,
         fmt::format("`{}`: dimension {} is {} and {}, which are never equal", op.name, dim,
                     text(x), text(y)));
  return false;
}

}  // namespace cgraph::elaborate
