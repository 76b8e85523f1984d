// Gradients: what `grad(y, of: X)` appends to the graph.
//
// The tape is gone through backwards, a derived call for each call on the way: of the same place
// and loop variables, in an order in which micro-batches go up. Derived ops are made by the rules
// of the ops (program::Gradient), as if a body had called them, so that later phases see a graph
// like any other.
#ifndef CGRAPH_COMPILER_ELABORATE_GRADIENTS_GRADIENTS_H_
#define CGRAPH_COMPILER_ELABORATE_GRADIENTS_GRADIENTS_H_

#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/frame.h"

namespace cgraph::elaborate {

struct ElaborationContext;

// Evaluates grad(y, of: X, from: gy): the gradients of y in the structure of X.
Value EvaluateGrad(ElaborationContext& elaboration, const program::CallBuiltin& e,
                   const Context& context);

// Returns the params of a place as a tuple by their names, each as it is now.
Value ParamsOf(ElaborationContext& elaboration, graph::InstanceId instance, Range range);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_GRADIENTS_GRADIENTS_H_
