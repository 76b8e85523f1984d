// Arguments to parameters: which goes where, and whether it fits.
#include <fmt/format.h>

#include "compiler/check/names.h"
#include "compiler/check/resolver.h"
#include "compiler/program/text.h"

namespace cgraph::check {

using namespace program;

Resolver::Arguments Resolver::ResolveArguments(const std::vector<syntax::Argument>& arguments) {
  Arguments resolved;
  for (const syntax::Argument& argument : arguments) {
    Value value = ResolveValue(argument.value);
    resolved.arguments.push_back({argument.label ? argument.label->text : "", value.id,
                                  argument.label ? argument.label->range
                                                 : Written(argument.value).range});
    resolved.types.push_back(std::move(value.type));
  }
  return resolved;
}

std::vector<int> Resolver::Distribute(const Arguments& given, const Callee& callee, Range call) {
  const std::vector<Parameter>& parameters = *callee.parameters;
  std::vector<int> argument_of(parameters.size(), -1);
  std::map<std::string, size_t> by_name;
  for (size_t i = 0; i < parameters.size(); ++i) by_name.emplace(parameters[i].name, i);
  bool labelled = false, complete = true;
  for (size_t i = 0; i < given.arguments.size(); ++i) {
    const Argument& argument = given.arguments[i];
    size_t target = i;
    if (argument.label.empty()) {
      if (labelled) {  // the parser has said so
        complete = false;
        continue;
      }
      if (i >= parameters.size()) {
        Report(Code::kE0402, argument.range,
               fmt::format("{} takes {} {}, and {} are given", callee.what, parameters.size(),
                           parameters.size() == 1 ? "argument" : "arguments",
                           given.arguments.size()))
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
        Diagnostic& diagnostic =
            Report(Code::kE0403, argument.range,
                   fmt::format("{} has no parameter `{}`", callee.what, argument.label));
        checker_.Suggest(diagnostic, argument.range, argument.label, names)
            .AddNote(callee.declared, "declared here");
        complete = false;
        continue;
      }
      target = found->second;
    }
    if (argument_of[target] >= 0) {
      Report(Code::kE0404, argument.range,
             fmt::format("`{}` is given twice", parameters[target].name))
          .AddNote(given.arguments[argument_of[target]].range, "the first time here")
          .AddNote(parameters[target].range, "the parameter");
      continue;
    }
    argument_of[target] = static_cast<int>(i);
  }
  // A label that does not exist is the likelier reason for one that is missing.
  for (size_t i = 0; complete && i < parameters.size(); ++i) {
    if (argument_of[i] >= 0 || parameters[i].default_value.valid()) continue;
    Report(Code::kE0401, call,
           fmt::format("{} takes `{}`, which is not given", callee.what, parameters[i].name))
        .AddNote(parameters[i].range, "the parameter");
    break;
  }
  return argument_of;
}

Static Resolver::CheckArguments(const Arguments& given, const Callee& callee, Range call) {
  std::vector<int> argument_of = Distribute(given, callee, call);
  Matcher matcher(program_, callee.signature, false);
  bool fits = true;
  for (bool numbers : {false, true}) {  // numbers take the dtype that the others bind
    for (size_t i = 0; i < argument_of.size(); ++i) {
      if (argument_of[i] < 0) continue;
      const Static& type = given.types[argument_of[i]];
      const Parameter& parameter = (*callee.parameters)[i];
      bool number = type.is_number() || type.kind == Static::kBool;
      if (number != numbers || !parameter.type.valid()) continue;
      auto mismatch = matcher.Match(parameter.type, type);
      if (!mismatch) continue;
      fits = false;
      TextPrinter text(program_, callee.signature, callee.locals);
      ExprId value = given.arguments[argument_of[i]].value;
      Report(mismatch->code, program_.exprs[value].range,
             fmt::format("{} takes `{}` as {}, and this is {}{}", callee.what, parameter.name,
                         text.Text(parameter.type), Describe(type),
                         mismatch->reason.empty() ? "" : ": " + mismatch->reason))
          .AddNote(parameter.range, "the parameter");
    }
  }
  if (!callee.signature || !callee.signature->result.valid()) return Static::Of(Static::kNothing);
  return fits ? matcher.Bound(callee.signature->result)
              : StaticOf(program_, callee.signature->result);
}

std::optional<ActorId> Resolver::ResolveActorName(syntax::ExprId callee) {
  const syntax::Expr& expr = Written(callee);
  Found found;
  std::string name;
  if (const auto* plain = std::get_if<syntax::NameExpr>(&expr.node)) {
    name = plain->name;
    found = FindName(checker_, module_, name, expr.range);
  } else if (const auto* field = std::get_if<syntax::FieldExpr>(&expr.node)) {
    name = field->name.text;
    const std::string* qualifier = QualifierOf(field->base);
    if (qualifier) found = FindQualified(checker_, module_, *qualifier, name, expr.range);
  }
  if (found.symbol) {
    if (const auto* actor = std::get_if<ActorId>(&found.symbol->node)) return *actor;
    if (std::holds_alternative<Refused>(found.symbol->node)) return std::nullopt;
  }
  if (found.reported || (!found.symbol && checker_.syntax_errors)) return std::nullopt;
  std::vector<std::string> actors;
  for (const std::string& candidate : VisibleNames(module_)) {
    Found visible = FindName(checker_, module_, candidate, expr.range);
    if (visible.symbol && std::holds_alternative<ActorId>(visible.symbol->node)) {
      actors.push_back(candidate);
    }
  }
  const std::string seen = name.empty()   ? "this is none"
                           : found.symbol ? "`" + name + "` is none"
                                          : "`" + name + "` is not declared";
  auto& diagnostic = Report(Code::kE0301, expr.range,
                            fmt::format("a place is made of an actor, and {}", seen));
  checker_.Suggest(diagnostic, expr.range, name, actors);
  if (found.symbol) diagnostic.AddNote(found.symbol->range, "declared here");
  return std::nullopt;
}

std::vector<Argument> Resolver::ResolveActorArguments(
    const std::vector<syntax::Argument>& arguments, ActorId id, Range call) {
  const Actor& actor = program_.actors[id];
  Arguments given = ResolveArguments(arguments);
  CheckArguments(given, {"actor `" + actor.name + "`", &actor.parameters, nullptr, &actor.locals,
                         actor.range},
                 call);
  return std::move(given.arguments);
}

void Resolver::ExpectType(TypeId type, const Static& given, Range at, const std::string& what,
                          Range declared) {
  Matcher matcher(program_, signature_, true);
  auto mismatch = matcher.Match(type, given);
  if (!mismatch) return;
  auto& diagnostic =
      Report(mismatch->code, at,
             fmt::format("{} is declared as {}, and this is {}{}", what,
                         TextPrinter(program_, signature_, locals_).Text(type), Describe(given),
                         mismatch->reason.empty() ? "" : ": " + mismatch->reason));
  if (declared.valid()) diagnostic.AddNote(declared, "declared here");
}

}  // namespace cgraph::check
