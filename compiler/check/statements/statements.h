// Statements: bodies in blocks, assignments, returns.
#ifndef CGRAPH_COMPILER_CHECK_STATEMENTS_STATEMENTS_H_
#define CGRAPH_COMPILER_CHECK_STATEMENTS_STATEMENTS_H_

#include <optional>
#include <vector>

#include "compiler/check/scope/scope.h"

namespace cgraph::check {

// `name`, of the declaration, is blamed for a result that is not returned.
std::vector<program::StatementId> ResolveBody(Scope& scope,
                                              const std::vector<syntax::StatementId>& statements,
                                              const syntax::Name& name);

// Assignments: to a `var`, a state, or an element of one.
std::optional<program::Statement> ResolveAssign(Scope& scope, const syntax::Assign& node,
                                                Range range);

// A `return` is the last thing that a body does, on every path that has one. Refuses `repeat` and
// `yield`, which stand in graphs that repeat.
void CheckReturns(Scope& scope, const std::vector<syntax::StatementId>& ids);

// Returns the `repeat` at the end of a body; null: there is none.
const syntax::Repeat* RepeatOf(const Module& module, const std::vector<syntax::StatementId>& ids);

// In a graph that repeats, a `yield` is the last thing of each round, and may be that of what
// stands before the rounds.
void CheckYields(Scope& scope, const std::vector<syntax::StatementId>& ids,
                 const syntax::Repeat& loop);

// Returns whether the last thing on every path is a `return` or a `yield`.
bool EndsWithReturn(const Scope& scope, const std::vector<syntax::StatementId>& ids);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_STATEMENTS_STATEMENTS_H_
