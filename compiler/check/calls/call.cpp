#include "compiler/check/calls/calls.h"

#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "compiler/check/calls/arguments.h"
#include "compiler/check/calls/overloads.h"
#include "compiler/check/expressions/resolve.h"
#include "compiler/check/expressions/visit.h"
#include "compiler/check/gradients/gradients.h"
#include "compiler/check/names.h"
#include "compiler/check/scope/lookup.h"
#include "compiler/check/scope/scope.h"
#include "runtime/base/text.h"

namespace cgraph::check {

using namespace program;

namespace {

// Returns the name under which the module imports a file; null when it does not.
const std::string* QualifierOfFile(const Module& module, const std::string& file) {
  for (const Import& import : module.imports) {
    if (import.module->name == file) return &import.qualifier;
  }
  return nullptr;
}

// Suggests a visible name, or else one that the library's files declare.
void SuggestFunction(Scope& scope, Diagnostic& diagnostic, Range range, const std::string& name) {
  bool looked = false;
  const size_t fixes = diagnostic.fixes.size();
  scope.checker.Suggest(diagnostic, range, name, [&] {
    looked = true;
    return VisibleNames(scope.module);
  });
  if (!looked || diagnostic.fixes.size() > fixes) return;
  const std::map<std::string, std::string>& library = LibraryNames(scope.checker);
  std::vector<std::string> names;
  for (const auto& [declared, file] : library) names.push_back(declared);
  const std::string near = DidYouMean(name, names);
  if (near.empty()) return;
  diagnostic.message += fmt::format(" (did you mean `{}`, which `import std.{}` declares?)", near,
                                    library.at(near));
}

Value CallUnknown(Scope& scope, const syntax::CallExpr& node, const std::string& name,
                  Range name_range, Range range) {
  if (auto collective = ParseCollective(name)) {
    return ResolveCollective(scope, node, *collective, name_range, range);
  }
  const bool asks_rank = name == "rank" && node.arguments.empty();  // as in MPI
  if (FindBuiltin(name) && !asks_rank) {
    return RefuseCall(scope, node, Code::kE0309, name_range,
                      fmt::format("`{}` is a function of dimensions; it can stand in types, and "
                                  "in the clauses of an op",
                                  name),
                      range);
  }
  if (IsDeviceWord(scope, name)) {
    return RefuseCall(scope, node, Code::kE0421, name_range,
                      fmt::format("a device is written with brackets: {}[0]", name), range);
  }
  if (scope.checker.names_missing) {
    ResolveArgumentsOfUnknown(scope, node.arguments);
    return scope.Poison(range);
  }
  if (scope.actor.valid() && FindMethod(scope.program, scope.actor, name).valid()) {
    return RefuseOwnMethod(scope, node, name_range, range);
  }
  Diagnostic& diagnostic =
      scope.Report(Code::kE0301, name_range, fmt::format("`{}` is not declared", name));
  if (std::string file = LibraryFileOf(scope.checker, name); !file.empty()) {
    const std::string* qualifier = QualifierOfFile(scope.module, "std." + file);
    if (qualifier != nullptr) {
      diagnostic.message += fmt::format("; write `{}.{}`", *qualifier, name);
      diagnostic.AddFix(name_range, *qualifier + "." + name);
    } else {
      diagnostic.message += fmt::format("; `import std.{}` declares it", file);
    }
  } else if (!TranslateCollective(diagnostic, name_range, name) &&
             !scope.checker.Translate(diagnostic, name_range, name)) {
    SuggestFunction(scope, diagnostic, name_range, name);
  }
  ResolveArgumentsOfUnknown(scope, node.arguments);
  return scope.Poison(range);
}

// Lists methods: ": a.get(...), a.put(...)".
std::string MethodsText(const Scope& scope, const Place& place, const std::string& name) {
  std::string text;
  if (!place.actor.valid()) return text;
  for (MethodId method : scope.program.actors[place.actor].methods) {
    text += fmt::format("{}{}{}.{}(...)", text.empty() ? ": " : ", ", name, Subscripts(place),
                        scope.program.methods[method].name);
  }
  return text;
}

Value CallSymbol(Scope& scope, const syntax::CallExpr& node, const Symbol& symbol,
                 const std::string& name, Range name_range, Range range) {
  const Symbol& meant = ChooseOverload(scope.checker, symbol, node.arguments);
  if (const auto* op = std::get_if<OpId>(&meant.node)) {
    return ResolveOpCall(scope, node, *op, range);
  }
  if (const auto* fn = std::get_if<FnId>(&meant.node)) {
    return ResolveFnCall(scope, node, *fn, range);
  }
  if (const auto* graph = std::get_if<GraphId>(&symbol.node)) {
    return ResolveGraphCall(scope, node, *graph, name_range, range);
  }
  const char* what = "a const";
  std::string mend;
  if (std::holds_alternative<ActorId>(symbol.node)) {
    what = "an actor";
    mend = fmt::format("; `place x = {}(...) on gpu[0]`, outside of graphs and fns, makes a place "
                       "of it, whose methods can be called",
                       name);
  } else if (const auto* place = std::get_if<PlaceId>(&symbol.node)) {
    what = scope.program.places[*place].indices.empty() ? "a place" : "an array of places";
    mend = "; call one of its methods" + MethodsText(scope, scope.program.places[*place], name);
  } else if (std::holds_alternative<NamedTypeId>(symbol.node)) {
    what = "a type";
    mend = "; a value of it is written as the tuple, list or tensor that it stands for, and " +
           name + " behind its name, let x: " + name + " = ...";
  } else if (std::holds_alternative<OptimizerId>(symbol.node)) {
    what = "an optimizer";
    mend = "; it stands after `trained by` at a place";
  } else if (std::holds_alternative<TransportId>(symbol.node)) {
    what = "a transport";
    mend = "; it stands after `via`";
  } else if (std::holds_alternative<ScheduleId>(symbol.node)) {
    what = "a schedule";
    mend = "; it stands after `using`";
  } else if (std::holds_alternative<TopologyId>(symbol.node)) {
    what = "a topology";
    mend = "; `--topology` names it";
  }
  scope
      .Report(Code::kE0306, name_range,
              fmt::format("`{}` is {} and cannot be called{}", name, what, mend))
      .AddNote(symbol.range, "declared here");
  ResolveArguments(scope, node.arguments);
  return scope.Poison(range);
}

Value CallName(Scope& scope, const syntax::CallExpr& node, const std::string& name,
               Range name_range, Range range) {
  std::optional<Builtin> builtin = FindBuiltin(name);
  bool of_dimensions = scope.in_type || scope.site == Site::kOp || scope.optimizer.valid();
  if (builtin && IsOfDimensions(*builtin) && of_dimensions) {
    return ResolveBuiltinCall(scope, node, *builtin, range);
  }
  if (IsOwnName(scope, name)) {
    Value value = ResolveName(scope, name, name_range);
    if (!value.type.known()) {
      return RefuseCall(scope, node, Code::kE0306, name_range,
                        fmt::format("`{}` is a value of this body and cannot be called", name),
                        range);
    }
    return RefuseCall(
        scope, node, Code::kE0306, name_range,
        fmt::format("`{}` is {} and cannot be called", name, scope.Describe(value.type)), range);
  }
  Found found = FindName(scope.checker, scope.module, name, name_range);
  if (found.symbol) return CallSymbol(scope, node, *found.symbol, name, name_range, range);
  if (found.reported) {
    ResolveArguments(scope, node.arguments);
    return scope.Poison(range);
  }
  if (builtin && IsOfGradients(*builtin)) return ResolveGradientCall(scope, node, *builtin, range);
  if (builtin && !IsOfDimensions(*builtin)) return ResolveBuiltinCall(scope, node, *builtin, range);
  return CallUnknown(scope, node, name, name_range, range);
}

}  // namespace

void ResolveArgumentsOfUnknown(Scope& scope, const std::vector<syntax::Argument>& arguments) {
  for (const syntax::Argument& argument : arguments) {
    const auto& node = scope.Written(argument.value).node;
    const auto* name = std::get_if<syntax::NameExpr>(&node);
    const bool reduces = name && ParseReduction(name->name) && !IsOwnName(scope, name->name);
    const bool of_unknown = std::holds_alternative<syntax::FieldExpr>(node) &&
                            UnknownQualifier(scope, argument.value) != nullptr;
    if (!reduces && !of_unknown) ResolveValue(scope, argument.value);
  }
}

Value RefuseCall(Scope& scope, const syntax::CallExpr& node, Code code, Range at,
                 std::string message, Range range) {
  scope.Report(code, at, std::move(message));
  ResolveArguments(scope, node.arguments);
  return scope.Poison(range);
}

Value RefuseOwnMethod(Scope& scope, const syntax::CallExpr& node, Range at, Range range) {
  return RefuseCall(scope, node, Code::kE0316, at,
                    "methods do not call each other; a fn beside the actor can hold what they "
                    "share",
                    range);
}

Value Visit(Scope& scope, const syntax::CallExpr& node, Range range) {
  const syntax::Expr& callee = scope.Written(node.callee);
  if (const auto* name = std::get_if<syntax::NameExpr>(&callee.node)) {
    return CallName(scope, node, name->name, callee.range, range);
  }
  if (const auto* field = std::get_if<syntax::FieldExpr>(&callee.node)) {
    const std::string* qualifier = QualifierOf(scope, field->base);
    if (!qualifier) return ResolveMethodCall(scope, node, *field, range);
    const std::string& name = field->name.text;
    Found found = FindQualified(scope.checker, scope.module, *qualifier, name, field->name.range);
    if (found.symbol) return CallSymbol(scope, node, *found.symbol, name, field->name.range, range);
    if (!found.reported && !scope.checker.names_missing) {
      Diagnostic& diagnostic = scope.Report(Code::kE0301, field->name.range,
                                            fmt::format("{} declares no `{}`",
                                                        ShownModule(scope.module, *qualifier),
                                                        name));
      if (!scope.checker.Translate(diagnostic, field->name.range, name)) {
        scope.checker.Suggest(diagnostic, field->name.range, name,
                              [&] { return QualifiedNames(scope.module, *qualifier); });
      }
    }
    ResolveArguments(scope, node.arguments);
    return scope.Poison(range);
  }
  Value value = ResolveValue(scope, node.callee);
  if (std::holds_alternative<NoneLiteral>(
          scope.program.exprs[value.id].node)) {  // reported already
    ResolveArguments(scope, node.arguments);
    return value;
  }
  return RefuseCall(scope, node, Code::kE0306, callee.range,
                    fmt::format("only ops, fns, graphs and methods can be called; this is {}",
                                scope.Describe(value.type)),
                    range);
}

}  // namespace cgraph::check
