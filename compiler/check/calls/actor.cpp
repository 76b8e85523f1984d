#include "compiler/check/calls/calls.h"

#include <fmt/format.h>

#include "compiler/check/calls/arguments.h"
#include "compiler/check/names.h"
#include "compiler/check/scope/lookup.h"
#include "compiler/check/scope/scope.h"

namespace cgraph::check {

using namespace program;

namespace {

// Finds what a place needs: an actor or an optimizer; `rule` says which, for messages.
template <typename Id>
std::optional<Id> FindDeclared(Scope& scope, syntax::ExprId callee, const char* rule) {
  const syntax::Expr& expr = scope.Written(callee);
  Found found;
  std::string name;
  const std::string* qualifier = nullptr;
  Range at = expr.range;  // of the name itself
  if (const auto* plain = std::get_if<syntax::NameExpr>(&expr.node)) {
    name = plain->name;
    found = FindName(scope.checker, scope.module, name, expr.range);
  } else if (const auto* field = std::get_if<syntax::FieldExpr>(&expr.node)) {
    name = field->name.text;
    qualifier = QualifierOf(scope, field->base);
    if (qualifier) at = field->name.range;
    if (qualifier) found = FindQualified(scope.checker, scope.module, *qualifier, name, expr.range);
  }
  if (found.symbol) {
    if (const auto* id = std::get_if<Id>(&found.symbol->node)) return *id;
  }
  if (found.reported || (!found.symbol && scope.checker.names_missing)) return std::nullopt;
  std::vector<std::string> names;
  for (const std::string& candidate : qualifier ? QualifiedNames(scope.module, *qualifier)
                                                : VisibleNames(scope.module)) {
    const Found visible =
        qualifier ? FindQualified(scope.checker, scope.module, *qualifier, candidate, at)
                  : FindName(scope.checker, scope.module, candidate, at);
    if (visible.symbol && std::holds_alternative<Id>(visible.symbol->node)) {
      names.push_back(candidate);
    }
  }
  const std::string seen = name.empty()   ? "this is none"
                           : found.symbol ? "`" + name + "` is none"
                           : qualifier ? fmt::format("{} declares no `{}`",
                                                     ShownModule(scope.module, *qualifier), name)
                                       : "`" + name + "` is not declared";
  auto& diagnostic =
      scope.Report(Code::kE0301, expr.range, fmt::format("{}, and {}", rule, seen));
  const std::string file = found.symbol ? "" : LibraryFileOf(scope.checker, name);
  if (!file.empty()) {
    diagnostic.message += fmt::format("; `import std.{}` declares it", file);
  } else if (found.symbol || !scope.checker.Translate(diagnostic, at, name)) {
    scope.checker.Suggest(diagnostic, at, name, names);
  }
  if (found.symbol) diagnostic.AddNote(found.symbol->range, "declared here");
  return std::nullopt;
}

}  // namespace

std::optional<ActorId> ResolveActorName(Scope& scope, syntax::ExprId callee) {
  return FindDeclared<ActorId>(scope, callee, "a place is made of an actor");
}

std::optional<OptimizerId> ResolveOptimizerName(Scope& scope, syntax::ExprId callee) {
  return FindDeclared<OptimizerId>(scope, callee, "a place is trained by an optimizer");
}

std::vector<Argument> ResolveActorArguments(Scope& scope,
                                            const std::vector<syntax::Argument>& arguments,
                                            ActorId id, Range call) {
  const Actor& actor = scope.program.actors[id];
  Arguments given = ResolveArguments(scope, arguments);
  CheckArguments(
      scope, given,
      {"actor `" + actor.name + "`", &actor.parameters, nullptr, &actor.locals, actor.range}, call);
  return std::move(given.arguments);
}

}  // namespace cgraph::check
