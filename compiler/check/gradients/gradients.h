// Gradients: the rules that ops and fns declare, the methods that differentiate others, and the
// calls that ask for gradients.
//
// Rules of the library are resolved only where a program asks for gradients: others pay nothing for
// them.
#ifndef CGRAPH_COMPILER_CHECK_GRADIENTS_GRADIENTS_H_
#define CGRAPH_COMPILER_CHECK_GRADIENTS_GRADIENTS_H_

#include <optional>

#include "compiler/check/scope/scope.h"

namespace cgraph::check {

// Returns whether a file calls `grad`, declares a rule, or has an optimizer.
bool AsksForGradients(const syntax::File& file);

// Resolves the rule of an op or a fn, whose parameters are in scope.
program::Gradient ResolveGradient(Scope& scope, const syntax::Gradient& written);

// Resolves `grad by m` of a method: `m` is another method of its actor, or `auto`.
void ResolveGradientBy(Checker& checker, program::MethodId id);

// ---- optimizers

// Resolves the parameters of an optimizer, those of its `update`, and the types of its slots.
void ResolveOptimizerSignature(Checker& checker, program::OptimizerId id);

// Resolves defaults, the slots' initial values and the body of `update`.
void ResolveOptimizerBody(Checker& checker, program::OptimizerId id);

// Resolves the optimizer that `trained by` names; nothing where that is reported.
std::optional<program::Trained> ResolveTrainedBy(Scope& scope, syntax::ExprId written);

// Resolves the optimizer's arguments; reports a place that cannot be trained.
void CheckTrained(Scope& scope, program::Place& place, syntax::ExprId written);

// Resolves grad(y, of: X, from: gy), update_all(places, gradients, ...) and global_norm(gradients).
Value ResolveGradientCall(Scope& scope, const syntax::CallExpr& node, program::Builtin builtin,
                          Range range);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_GRADIENTS_GRADIENTS_H_
