// Calls, by what is called; arguments.h has how arguments go to parameters.
#ifndef CGRAPH_COMPILER_CHECK_CALLS_CALLS_H_
#define CGRAPH_COMPILER_CHECK_CALLS_CALLS_H_

#include <optional>
#include <string>
#include <vector>

#include "compiler/check/scope/scope.h"

namespace cgraph::check {

// ---- ops, fns and graphs
Value ResolveOpCall(Scope& scope, const syntax::CallExpr& node, program::OpId id, Range range);

Value ResolveFnCall(Scope& scope, const syntax::CallExpr& node, program::FnId id, Range range);

Value ResolveGraphCall(Scope& scope, const syntax::CallExpr& node, program::GraphId id,
                       Range name_range, Range range);

// `what` is called, and takes no type.
void RefuseTypeArgument(Scope& scope, const syntax::CallExpr& node, const std::string& what);

// ---- what is of the language, not of the library: zip, len, and functions of dimensions

// Those after kLen are functions of dimensions.
std::optional<program::Builtin> FindBuiltin(const std::string& name);

// Whether it asks for gradients, or does something with them (check/gradients).
bool IsOfGradients(program::Builtin builtin);

// Whether it can stand only in types and in the clauses of an op.
bool IsOfDimensions(program::Builtin builtin);

Value ResolveBuiltinCall(Scope& scope, const syntax::CallExpr& node, program::Builtin builtin,
                         Range range);

// ---- methods of places

// Writes the subscripts of one place, as a message names it: "[p, t]"; empty: it is no array.
std::string Subscripts(const program::Place& place);

Value ResolveMethodCall(Scope& scope, const syntax::CallExpr& node, const syntax::FieldExpr& callee,
                        Range range);

// ---- `place x = Actor(arguments)`
std::optional<program::ActorId> ResolveActorName(Scope& scope, syntax::ExprId callee);
std::optional<program::OptimizerId> ResolveOptimizerName(Scope& scope, syntax::ExprId callee);

// Checks them against the actor's parameters.
std::vector<program::Argument> ResolveActorArguments(Scope& scope,
                                                     const std::vector<syntax::Argument>& arguments,
                                                     program::ActorId id, Range call);

// Collectives: which arguments each takes, and what comes of them.
//
// They are of the language and not of the library, since the name of a reduction is no value and
// the participants are found in the values' homes. Which they are, and whether their tensors agree,
// is known when the graph is elaborated.
Value ResolveCollective(Scope& scope, const syntax::CallExpr& node, CollectiveKind kind,
                        Range name_range, Range range);

// Writes a call as an example: "reduce([...], sum, root: 0), of a list with a value of each place".
std::string UsageOf(CollectiveKind kind);

// Adds how a collective is called here that NCCL, MPI or PyTorch call `name`; false: there is none.
bool TranslateCollective(Diagnostic& diagnostic, Range range, const std::string& name);

// ---- what cannot be called

// Resolves arguments for what is wrong in them, where what is called is not declared. What only a
// collective would understand is left out: `avg`, `ReduceOp.SUM`.
void ResolveArgumentsOfUnknown(Scope& scope, const std::vector<syntax::Argument>& arguments);

// Reports, and resolves the arguments for what is wrong in them.
Value RefuseCall(Scope& scope, const syntax::CallExpr& node, Code code, Range at,
                 std::string message, Range range);

// Refuses a call of another method of the same actor.
Value RefuseOwnMethod(Scope& scope, const syntax::CallExpr& node, Range at, Range range);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_CALLS_CALLS_H_
