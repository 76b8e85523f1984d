#include "compiler/check/statements/statements.h"

#include "compiler/check/scope/scope.h"

namespace cgraph::check {

using namespace program;

void CheckReturns(Scope& scope, const std::vector<syntax::StatementId>& ids, bool last) {
  for (size_t i = 0; i < ids.size(); ++i) {
    const syntax::Statement& statement = scope.module.file.statements[ids[i]];
    bool here = last && i + 1 == ids.size();
    if (const auto* branch = std::get_if<syntax::If>(&statement.node)) {
      CheckReturns(scope, branch->then_body, here);
      CheckReturns(scope, branch->else_body, here);
    } else if (const auto* loop = std::get_if<syntax::For>(&statement.node)) {
      CheckReturns(scope, loop->body, false);
    } else if (std::holds_alternative<syntax::Return>(statement.node)) {
      if (!scope.signature->result.valid()) {
        scope.Report(Code::kE0414, statement.range,
                     "a `return` where no result is declared; declare one with `-> TYPE`");
      } else if (!here) {
        scope.Report(
            Code::kE0414, statement.range,
            "a `return` is the last statement of a body, or of both branches of an `if` there");
      }
    }
  }
}

bool EndsWithReturn(const Scope& scope, const std::vector<syntax::StatementId>& ids) {
  if (ids.empty()) return false;
  const auto& last = scope.module.file.statements[ids.back()].node;
  if (const auto* branch = std::get_if<syntax::If>(&last)) {
    return EndsWithReturn(scope, branch->then_body) && EndsWithReturn(scope, branch->else_body);
  }
  return std::holds_alternative<syntax::Return>(last);
}

}  // namespace cgraph::check
