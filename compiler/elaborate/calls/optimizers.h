// Optimizers: `update` of a place that is `trained by` one, update_all and global_norm.
//
// `update` of a place is one call: it runs the optimizer's `update` for each tensor of the place's
// params, with its part of the gradients, and then commits all new params and slots.
#ifndef CGRAPH_COMPILER_ELABORATE_CALLS_OPTIMIZERS_H_
#define CGRAPH_COMPILER_ELABORATE_CALLS_OPTIMIZERS_H_

#include <string>
#include <vector>

#include "compiler/elaborate/expressions/evaluate.h"

namespace cgraph::elaborate {

struct ElaborationContext;

// Returns whether a method of an instance is what its optimizer gives it.
bool IsUpdate(const ElaborationContext& elaboration, graph::InstanceId id, const std::string& name);

// Calls `update`: the first argument are the gradients of the place's params, in the structure that
// grad(loss, of: place) returns, the others are the optimizer's.
Value CallUpdate(ElaborationContext& elaboration, graph::InstanceId id,
                 std::vector<Actual> actuals, Range range);

// Evaluates update_all(places, gradients, ...): `update` of each place with its part.
Value EvaluateUpdateAll(ElaborationContext& elaboration, const program::CallBuiltin& e,
                        const Context& context);

// Evaluates global_norm(gradients): squares are summed where they lie, of each variable one copy.
Value EvaluateGlobalNorm(ElaborationContext& elaboration, const program::CallBuiltin& e,
                         const Context& context);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_CALLS_OPTIMIZERS_H_
