#include "compiler/elaborate/calls/arguments.h"

#include <cstdint>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/types/coerce.h"
#include "compiler/elaborate/types/dims.h"
#include "compiler/elaborate/types/unify.h"
#include "compiler/elaborate/values/make.h"
#include "compiler/program/text.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/text.h"

namespace cgraph::elaborate {
namespace {

constexpr size_t kNoParameter = SIZE_MAX;

size_t ParameterOf(const std::vector<Actual>& actuals, size_t at) {
  if (actuals[at].parameter >= 0) return actuals[at].parameter;
  return actuals[at].label.empty() ? at : kNoParameter;
}

// Finds a parameter by the label, in a method that Check did not know.
int FindParameter(const std::vector<program::Parameter>& parameters, const std::string& label) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!label.empty() && parameters[i].name == label) return static_cast<int>(i);
  }
  return -1;
}

// Returns the optimizer whose `update` the frame is of; null: it is of something else.
const program::Optimizer* UpdatedBy(const ElaborationContext& elaboration, const Frame& callee) {
  if (callee.update.empty()) return nullptr;
  const auto& training = elaboration.places.instances[callee.instance.index].training;
  return &elaboration.program.optimizers[training->optimizer];
}

// Reports that argument `at` has no parameter: there are too many, or its label is unknown.
void ReportNoParameter(ElaborationContext& elaboration,
                       llvm::ArrayRef<program::Parameter> parameters,
                       const std::vector<Actual>& actuals, size_t at, const Frame& callee) {
  const Actual& actual = actuals[at];
  const program::Optimizer* const optimizer = UpdatedBy(elaboration, callee);
  if (actual.label.empty()) {
    const size_t own = optimizer != nullptr ? 1 : 0;  // the tensor, which no caller gives
    Report(elaboration, Code::kE0402, actual.range,
           fmt::format("`{}` takes {}, not {}", callee.subject,
                       Counted(parameters.size() - own, "argument"), actuals.size() - own));
    return;
  }
  if (optimizer != nullptr) parameters = parameters.drop_front(2);  // the gradient has no label
  std::vector<std::string> names;
  for (const program::Parameter& parameter : parameters) names.push_back(parameter.name);
  Diagnostic& diagnostic =
      Report(elaboration, Code::kE0403, actual.label_range,
             fmt::format("`{}` has no parameter `{}`", callee.subject, actual.label));
  program::MeantLabel meant;
  if (optimizer != nullptr) {
    meant = program::FindMeantLabel(*optimizer, /*of_update=*/true, actual.label);
  }
  diagnostic.message += meant.message;
  if (!meant.fix.empty()) diagnostic.AddFix(actual.label_range, meant.fix);
  if (!meant.message.empty()) return;
  diagnostic.Suggest(actual.label_range, actual.label, names);
  if (diagnostic.fixes.empty() && !names.empty()) {
    diagnostic.message += fmt::format("; it takes {}", fmt::join(names, ", "));
  }
}

// Returns by parameter its argument, or null for a default.
std::optional<std::vector<const Actual*>> MatchArguments(
    ElaborationContext& elaboration, const std::vector<program::Parameter>& parameters,
    const std::vector<Actual>& actuals, const Frame& callee, Range site) {
  std::vector<const Actual*> matched(parameters.size(), nullptr);
  for (size_t i = 0; i < actuals.size(); ++i) {
    const size_t at = ParameterOf(actuals, i);
    if (at >= parameters.size()) {
      ReportNoParameter(elaboration, parameters, actuals, i, callee);
      return std::nullopt;
    }
    if (matched[at] != nullptr) {
      Report(
          elaboration, Code::kE0404, actuals[i].range,
          fmt::format("`{}`: parameter `{}` is given twice", callee.subject, parameters[at].name))
          .AddNote(matched[at]->range, "the first time here");
      return std::nullopt;
    }
    matched[at] = &actuals[i];
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (matched[i] || parameters[i].default_value.valid()) continue;
    Report(elaboration, Code::kE0401, site,
           fmt::format("`{}` needs an argument for `{}`", callee.subject, parameters[i].name))
        .AddNote(parameters[i].range, "declared here");
    return std::nullopt;
  }
  return matched;
}

// Returns whether a type has this parameter as a dimension, by itself.
bool HasAsDim(const program::Program& program, program::TypeId id, program::LocalId parameter) {
  const auto& type = program.types[id].node;
  if (const auto* list = std::get_if<program::ListType>(&type)) {
    return HasAsDim(program, list->element, parameter);
  }
  if (const auto* tuple = std::get_if<program::TupleType>(&type)) {
    return llvm::any_of(
        tuple->fields, [&](const auto& field) { return HasAsDim(program, field.type, parameter); });
  }
  const auto* tensor = std::get_if<program::TensorType>(&type);
  return tensor && llvm::any_of(tensor->dims, [&](const program::Dim& dim) {
           if (dim.kind != program::Dim::kExpr) return false;
           const auto* local = std::get_if<program::LocalRef>(&program.exprs[dim.expr].node);
           return local && local->local == parameter;
         });
}

// Returns whether an extent that is known only while running may stand for this int: a dimension of
// a fn's result is as long, as of arange(n).
bool TakesExtent(const ElaborationContext& elaboration, const program::Parameter& parameter,
                 const Value& value, const Frame& callee) {
  if (!callee.takes_extents || !callee.signature->result.valid()) return false;
  const auto* type =
      std::get_if<program::CompileTimeType>(&elaboration.program.types[parameter.type].node);
  return type && type->kind == program::CompileTimeKind::kInt &&
         DimOfExtent(elaboration, value).has_value() &&
         HasAsDim(elaboration.program, callee.signature->result, parameter.local);
}

bool BindParameter(ElaborationContext& elaboration, const program::Parameter& parameter,
                   const Actual* actual, Frame& callee) {
  Value value;
  Range range = parameter.range;
  if (actual) {
    value = actual->value;
    range = actual->range;
  } else {
    value = Evaluate(elaboration, parameter.default_value, callee, {parameter.type, &callee});
  }
  if (TakesExtent(elaboration, parameter, value, callee)) {
    callee.locals[parameter.local.index] = value;
    return true;
  }
  const Subject subject{"parameter", &parameter.name, parameter.range};
  value = Coerce(elaboration, value, parameter.type, callee, subject, range);
  callee.locals[parameter.local.index] = value;
  return !value.poisoned();
}

// Reads how many dimensions a run takes from `where rank(s) == dim`, which `*s, n, *r` leaves open.
void RankHints(ElaborationContext& elaboration, program::ExprId where, Frame& callee) {
  auto* chain = std::get_if<program::Chain>(&elaboration.program.exprs[where].node);
  if (!chain) return;
  if (chain->operators[0] == BinaryOperator::kAnd) {
    for (program::ExprId operand : chain->operands) RankHints(elaboration, operand, callee);
    return;
  }
  auto* rank =
      std::get_if<program::CallBuiltin>(&elaboration.program.exprs[chain->operands[0]].node);
  bool is_hint = chain->operators.size() == 1 && rank &&
                 chain->operators[0] == BinaryOperator::kEqual &&
                 rank->builtin == program::Builtin::kRank;
  if (!is_hint || !IsKnown(elaboration, chain->operands[1], callee)) return;
  auto* run =
      std::get_if<program::DimRef>(&elaboration.program.exprs[rank->arguments[0].value].node);
  if (!run) return;
  callee.run_ranks[run->variable.index] =
      EvaluateInt(elaboration, chain->operands[1], callee, "a number of dimensions");
}

}  // namespace

const Actual* ActualFor(size_t parameter, const std::vector<Actual>& actuals) {
  for (size_t i = 0; i < actuals.size(); ++i) {
    if (ParameterOf(actuals, i) == parameter) return &actuals[i];
  }
  return nullptr;
}

std::vector<Actual> EvaluateArguments(ElaborationContext& elaboration,
                                      const std::vector<program::Argument>& arguments,
                                      const std::vector<program::Parameter>* parameters,
                                      Frame& callee, Frame& frame) {
  std::vector<Actual> actuals;
  for (const program::Argument& argument : arguments) {
    Actual& actual = actuals.emplace_back();
    actual.label = argument.label;
    actual.range = elaboration.program.exprs[argument.value].range;
    actual.label_range = argument.range;
    actual.parameter = argument.parameter;
    Expected expected;
    if (parameters != nullptr) {
      if (actual.parameter < 0) actual.parameter = FindParameter(*parameters, argument.label);
      const size_t at = ParameterOf(actuals, actuals.size() - 1);
      if (at < parameters->size()) expected = {(*parameters)[at].type, &callee};
    }
    actual.value = Evaluate(elaboration, argument.value, frame, expected);
  }
  return actuals;
}

bool BindParameters(ElaborationContext& elaboration,
                    const std::vector<program::Parameter>& parameters,
                    const std::vector<Actual>& actuals, Frame& callee, Range site,
                    program::ExprId where) {
  for (const Actual& actual : actuals) {
    if (actual.value.poisoned()) return false;
  }
  auto matched = MatchArguments(elaboration, parameters, actuals, callee, site);
  if (!matched) return false;
  enum Pass { kCompileTime, kTensors, kFloats, kRest };
  auto pass_of = [&](size_t i) {
    const auto& type = elaboration.program.types[parameters[i].type].node;
    if (std::holds_alternative<program::CompileTimeType>(type)) return kCompileTime;
    if (!(*matched)[i]) return kRest;
    const Value& value = (*matched)[i]->value;
    if (value.As<double>()) return kFloats;
    return IsNumeric(elaboration, (*matched)[i]->range, value) ? kRest : kTensors;
  };
  bool bound = true;
  for (Pass pass : {kCompileTime, kTensors, kFloats, kRest}) {
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (pass_of(i) == pass)
        bound &= BindParameter(elaboration, parameters[i], (*matched)[i], callee);
    }
    if (!bound) return false;
    if (pass == kCompileTime && where.valid()) RankHints(elaboration, where, callee);
  }
  if (!CheckDeferred(elaboration, callee)) return false;
  callee.rigid.clear();
  for (const std::optional<BoundDims>& dims : callee.dims) callee.rigid.push_back(dims.has_value());
  return true;
}

}  // namespace cgraph::elaborate
