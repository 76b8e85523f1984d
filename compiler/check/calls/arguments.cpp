#include "compiler/check/calls/arguments.h"

#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/base/kernels.h"
#include "compiler/check/expressions/resolve.h"
#include "compiler/check/scope/scope.h"
#include "compiler/check/static_types/match.h"
#include "compiler/program/text.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/text.h"

namespace cgraph::check {

using namespace program;

namespace {

// Returns the argument of each parameter, -1 for none; reports mismatches. `complete` becomes false
// where there are arguments that the callee does not take.
std::vector<int> Distribute(Scope& scope, Arguments& given, const Callee& callee, Range call,
                            bool& complete) {
  const std::vector<Parameter>& parameters = *callee.parameters;
  std::vector<int> argument_of(parameters.size(), -1);
  std::map<std::string, size_t> by_name;
  for (size_t i = 0; i < parameters.size(); ++i) by_name.emplace(parameters[i].name, i);
  bool labelled = false;
  for (size_t i = 0; i < given.arguments.size(); ++i) {
    const Argument& argument = given.arguments[i];
    size_t target = i;
    if (argument.label.empty()) {
      if (labelled) {  // the parser has said so
        complete = false;
        continue;
      }
      if (i >= parameters.size()) {
        scope
            .Report(Code::kE0402, argument.range,
                    fmt::format("{} takes {}, and {} {} given{}", callee.what,
                                Counted(parameters.size(), "argument"), given.arguments.size(),
                                given.arguments.size() == 1 ? "is" : "are", callee.mend))
            .AddNote(callee.declared, "declared here");
        complete = false;
        break;
      }
    } else {
      labelled = true;
      auto found = by_name.find(argument.label);
      if (found == by_name.end()) {
        std::vector<std::string> names;
        for (const Parameter& parameter : parameters) names.push_back(parameter.name);
        const bool of_dim = argument.label == kDimParameter || argument.label == "axis";
        Diagnostic& diagnostic =
            scope.Report(Code::kE0403, argument.range,
                         fmt::format("{} has no parameter `{}`{}", callee.what, argument.label,
                                     of_dim ? callee.mend : ""));
        const bool has_axis = llvm::any_of(parameters, [](const Parameter& parameter) {
          return parameter.axis == AxisRole::kAxis;
        });
        const bool is_one = !given.types[i].is_list_of_ints();
        if (argument.label == "axis" && has_axis && is_one) {
          scope.checker.Translate(diagnostic, argument.range, argument.label);
        } else if (is_one) {
          scope.checker.Suggest(diagnostic, argument.range, argument.label, names);
        }
        if (diagnostic.fixes.empty() && !of_dim && !names.empty()) {
          diagnostic.message += fmt::format("; it takes {}", fmt::join(names, ", "));
        }
        diagnostic.AddNote(callee.declared, "declared here");
        complete = false;
        continue;
      }
      target = found->second;
    }
    if (argument_of[target] >= 0) {
      scope
          .Report(Code::kE0404, argument.range,
                  fmt::format("`{}` is given twice", parameters[target].name))
          .AddNote(given.arguments[argument_of[target]].range, "the first time here")
          .AddNote(parameters[target].range, "the parameter");
      continue;
    }
    argument_of[target] = static_cast<int>(i);
    given.arguments[i].parameter = static_cast<int>(target);
  }
  // Where a label does not exist, that is probably why another is missing.
  for (size_t i = 0; complete && i < parameters.size(); ++i) {
    if (argument_of[i] >= 0 || parameters[i].default_value.valid()) continue;
    scope
        .Report(Code::kE0401, call,
                fmt::format("{} takes `{}`, which is not given", callee.what, parameters[i].name))
        .AddNote(parameters[i].range, "the parameter");
    break;
  }
  return argument_of;
}

// Adds to why an argument does not fit what would, where that is likely what was meant.
std::string ReasonOf(Scope& scope, const Mismatch& mismatch, const Type& declared,
                     const StaticType& given, Range argument) {
  const auto* tensor = std::get_if<TensorType>(&declared.node);
  if (std::holds_alternative<ListType>(declared.node)) {
    if (given.kind == StaticType::kTuple) return "a list is written in brackets, [2, 3]";
    const bool is_element = given.kind == StaticType::kInt || given.kind == StaticType::kTensor;
    if (!is_element) return mismatch.reason;
    return fmt::format("a list is written in brackets, [{}]", scope.checker.sources.Text(argument));
  }
  const bool one_bool = tensor != nullptr && tensor->dtype == DType::kBool && tensor->dims.empty();
  if (!one_bool || given.kind != StaticType::kTensor || given.rank <= 0) return mismatch.reason;
  return mismatch.reason + "; min(x) > 0.0 asks whether all elements are, max(x) > 0.0 whether any "
                           "is";
}

}  // namespace

Arguments ResolveArguments(Scope& scope, const std::vector<syntax::Argument>& arguments) {
  Arguments resolved;
  for (const syntax::Argument& argument : arguments) {
    Value value = ResolveValue(scope, argument.value);
    resolved.arguments.push_back(
        {argument.label ? argument.label->text : "", value.id,
         argument.label ? argument.label->range : scope.Written(argument.value).range});
    resolved.types.push_back(std::move(value.type));
  }
  return resolved;
}

StaticType CheckArguments(Scope& scope, Arguments& given, const Callee& callee, Range call) {
  bool complete = true;
  std::vector<int> argument_of = Distribute(scope, given, callee, call, complete);
  Matcher matcher(scope.program, callee.signature, false);
  bool fits = true;
  for (bool numbers : {false, true}) {  // numbers take the dtype that the others bind
    for (size_t i = 0; i < argument_of.size(); ++i) {
      if (argument_of[i] < 0) continue;
      const StaticType& type = given.types[argument_of[i]];
      const Parameter& parameter = (*callee.parameters)[i];
      bool number = type.is_number() || type.kind == StaticType::kBool;
      if (number != numbers || !parameter.type.valid()) continue;
      auto mismatch = matcher.Match(parameter.type, type);
      if (!mismatch) continue;
      fits = false;
      TextPrinter text(scope.program, callee.signature, callee.locals);
      ExprId value = given.arguments[argument_of[i]].value;
      const Range at = scope.program.exprs[value].range;
      const std::string reason =
          ReasonOf(scope, *mismatch, scope.program.types[parameter.type], type, at);
      scope
          .Report(mismatch->code, at,
                  fmt::format("{} takes `{}` as {}, and this is {}{}{}", callee.what,
                              parameter.name, text.Meaning(parameter.type), scope.Describe(type),
                              reason.empty() ? "" : ": " + reason,
                              parameter.axis == AxisRole::kNone ? "" : callee.mend))
          .AddNote(parameter.range, "the parameter");
    }
  }
  if (!callee.signature || !callee.signature->result.valid())
    return StaticType::Of(StaticType::kNothing);
  if (!complete) return StaticType();  // what was meant may give something else
  return fits ? matcher.Bound(callee.signature->result)
              : StaticOf(scope.program, callee.signature->result);
}

}  // namespace cgraph::check
