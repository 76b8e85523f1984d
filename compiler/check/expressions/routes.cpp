#include "compiler/check/expressions/resolve.h"

#include <fmt/format.h>

#include "compiler/base/transport.h"
#include "compiler/check/names.h"
#include "compiler/check/scope/lookup.h"
#include "compiler/check/scope/scope.h"
#include "llvm/ADT/StringExtras.h"

namespace cgraph::check {

using namespace program;

std::optional<Route> ResolveRoute(Scope& scope, syntax::ExprId id) {
  const syntax::Expr& expr = scope.Written(id);
  if (std::holds_alternative<syntax::CallExpr>(expr.node)) {
    scope.Report(
        Code::kE0430, expr.range,
        "options of a transport stand where it gets a name: transport fast = shm(capacity: 4)");
    return std::nullopt;
  }
  const auto* name = std::get_if<syntax::NameExpr>(&expr.node);
  std::vector<std::string> candidates = TransportNames();
  if (name) {
    if (auto transport = ParseTransport(name->name)) return Route{*transport, {}, expr.range};
  }
  Found found;
  if (const auto* field = std::get_if<syntax::FieldExpr>(&expr.node)) {
    const std::string* qualifier = QualifierOf(scope, field->base);
    if (qualifier) {
      found = FindQualified(scope.checker, scope.module, *qualifier, field->name.text, expr.range);
      if (!found.symbol && (found.reported || scope.checker.names_missing)) return std::nullopt;
      if (!found.symbol) {
        Diagnostic& diagnostic = scope.Report(
            Code::kE0314, field->name.range,
            fmt::format("`via` takes a transport, and {} declares no `{}`",
                        ShownModule(scope.module, *qualifier), field->name.text));
        scope.checker.Suggest(diagnostic, field->name.range, field->name.text,
                              QualifiedNames(scope.module, *qualifier));
        return std::nullopt;
      }
    }
  } else if (name) {
    found = FindName(scope.checker, scope.module, name->name, expr.range);
  }
  if (found.reported) return std::nullopt;
  if (found.symbol) {
    const auto* declared = std::get_if<TransportId>(&found.symbol->node);
    if (declared) return Route{scope.program.transports[*declared].base, *declared, expr.range};
  }
  for (const NamedTransport& transport : scope.program.transports)
    candidates.push_back(transport.name);
  Diagnostic& diagnostic = scope.Report(
      Code::kE0314, expr.range,
      fmt::format("`via` takes a transport: {} or one that the file declares",
                  llvm::join(TransportNames(), ", ")));
  if (name != nullptr) scope.checker.Suggest(diagnostic, expr.range, name->name, candidates);
  return std::nullopt;
}

namespace {

std::string NameOf(const Scope& scope, const Route& route) {
  return route.declared.valid() ? scope.program.transports[route.declared].name
                                : TransportName(route.transport).str();
}

}  // namespace

void WarnOfOverriddenVia(Scope& scope, ExprId base, const Route& nearer) {
  const auto* via = std::get_if<Via>(&scope.program.exprs[base].node);
  if (via == nullptr) return;
  if (std::holds_alternative<CallCollective>(scope.program.exprs[via->base].node)) return;
  scope
      .Report(Code::kW0602, via->route.range,
              fmt::format("`via {}` has no effect: the `via {}` around it wins; leave one of them "
                          "out",
                          NameOf(scope, via->route), NameOf(scope, nearer)))
      .AddNote(nearer.range, "it goes this way");
}

void WarnOfOverriddenLets(Scope& scope) {
  for (const auto& [local, let] : scope.routed_lets) {
    if (let.overridden == 0 || scope.names.Uses(local) != let.overridden) continue;
    scope
        .Report(Code::kW0602, let.route.range,
                fmt::format("`via {}` has no effect: each use of `{}` has a `via` of its own, "
                            "which wins; leave this one out",
                            NameOf(scope, let.route), scope.names.row(local).name))
        .AddNote(let.by, let.overridden == 1 ? "the use" : "the first of them");
  }
}

}  // namespace cgraph::check
