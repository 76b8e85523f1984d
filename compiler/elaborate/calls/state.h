// State: read as what was written last, written when the call is over.
#ifndef CGRAPH_COMPILER_ELABORATE_CALLS_STATE_H_
#define CGRAPH_COMPILER_ELABORATE_CALLS_STATE_H_

#include "compiler/elaborate/frame.h"

namespace cgraph::elaborate {

struct ElaborationContext;

// The state's tensors at this instance: a tree with StateLeaf leaves.
const Value& LayoutOf(const ElaborationContext& elaboration, program::StateId state,
                      const Frame& frame);

Tensor ReadState(ElaborationContext& elaboration, graph::StateId state);

Value ReadStates(ElaborationContext& elaboration, Range range, const Value& layout);

// `value` has the shape of `layout`: Coerce has seen to it.
void StoreState(ElaborationContext& elaboration, const Value& layout, const Value& value);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_CALLS_STATE_H_
