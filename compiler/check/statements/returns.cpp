#include "compiler/check/statements/statements.h"

#include <cstring>

#include <fmt/format.h>

#include "compiler/check/scope/scope.h"

namespace cgraph::check {

using namespace program;

namespace {

// Returns the word `repeat` of such a statement, to be marked instead of all its lines.
Range HeadOf(const syntax::Statement& repeat) {
  const auto length = static_cast<uint32_t>(std::strlen("repeat"));
  return {repeat.range.source, repeat.range.begin, repeat.range.begin + length};
}

void ReportReturn(Scope& scope, const syntax::Return& node, bool repeats, bool here,
                  Range range) {
  if (node.yields && !repeats) {
    scope.Report(Code::kE0433, range,
                 "a `yield` gives a row of a graph that repeats: it is the last statement of a "
                 "round, or stands directly before `repeat`");
  } else if (!scope.signature->result.valid()) {
    scope.Report(Code::kE0414, range,
                 fmt::format("a `{}` where no result is declared; declare one with `-> TYPE`",
                             node.yields ? "yield" : "return"));
  } else if (!node.yields && repeats) {
    scope.Report(Code::kE0433, range,
                 "a graph that repeats gives a row for each round: `yield` instead of `return`");
  } else if (!here) {
    scope.Report(Code::kE0414, range,
                 node.yields ? "a `yield` is the last statement of a round, or of both branches of "
                               "an `if` there"
                             : "a `return` is the last statement of a body, or of both branches "
                               "of an `if` there");
  }
}

void CheckEnd(Scope& scope, const std::vector<syntax::StatementId>& ids, size_t count,
              bool repeats, bool may_end) {
  for (size_t i = 0; i < count; ++i) {
    const syntax::Statement& statement = scope.module.file.statements[ids[i]];
    const bool here = may_end && i + 1 == count;
    if (const auto* branch = std::get_if<syntax::If>(&statement.node)) {
      CheckEnd(scope, branch->then_body, branch->then_body.size(), repeats, here);
      CheckEnd(scope, branch->else_body, branch->else_body.size(), repeats, here);
    } else if (const auto* loop = std::get_if<syntax::For>(&statement.node)) {
      CheckEnd(scope, loop->body, loop->body.size(), repeats, false);
    } else if (std::holds_alternative<syntax::Repeat>(statement.node)) {
      scope.Report(Code::kE0433, HeadOf(statement),
                   scope.site == Site::kGraph
                       ? "`repeat` is the last statement of a graph, and stands in no loop, branch "
                         "or other `repeat`: what stands before it is done once"
                       : "`repeat` is the last statement of a graph; a loop with a fixed number of "
                         "turns is `for i in 0..n`");
    } else if (const auto* end = std::get_if<syntax::Return>(&statement.node)) {
      ReportReturn(scope, *end, repeats, here, statement.range);
    }
  }
}

}  // namespace

void CheckReturns(Scope& scope, const std::vector<syntax::StatementId>& ids) {
  CheckEnd(scope, ids, ids.size(), /*repeats=*/false, true);
}

const syntax::Repeat* RepeatOf(const Module& module, const std::vector<syntax::StatementId>& ids) {
  return ids.empty() ? nullptr
                     : std::get_if<syntax::Repeat>(&module.file.statements[ids.back()].node);
}

void CheckYields(Scope& scope, const std::vector<syntax::StatementId>& ids,
                 const syntax::Repeat& loop) {
  CheckEnd(scope, ids, ids.size() - 1, /*repeats=*/true, true);
  CheckEnd(scope, loop.body, loop.body.size(), /*repeats=*/true, true);
  if (!scope.signature->result.valid() || EndsWithReturn(scope, loop.body) ||
      scope.checker.names_missing) {
    return;
  }
  scope
      .Report(Code::kE0413, HeadOf(scope.module.file.statements[ids.back()]),
              "the graph declares a result, so the last statement of its rounds is a `yield`; an "
              "`if` at the end yields in both branches")
      .AddNote(scope.program.types[scope.signature->result].range, "the result is declared here");
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
