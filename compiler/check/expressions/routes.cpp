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
    if (qualifier)
      found = FindQualified(scope.checker, scope.module, *qualifier, field->name.text, expr.range);
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

}  // namespace cgraph::check
