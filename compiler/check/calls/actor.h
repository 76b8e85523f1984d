// `place x = Actor(arguments)`.
#ifndef CGRAPH_COMPILER_CHECK_CALLS_ACTOR_H_
#define CGRAPH_COMPILER_CHECK_CALLS_ACTOR_H_

#include <optional>
#include <vector>

#include "compiler/check/scope/scope.h"

namespace cgraph::check {

std::optional<program::ActorId> ResolveActorName(Scope& scope, syntax::ExprId callee);

// Checks them against the actor's parameters.
std::vector<program::Argument> ResolveActorArguments(Scope& scope,
                                                     const std::vector<syntax::Argument>& arguments,
                                                     program::ActorId id, Range call);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_CALLS_ACTOR_H_
