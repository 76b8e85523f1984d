// State: read as what was written last, written when the call is over.
#ifndef CGRAPH_COMPILER_ELABORATE_CALLS_STATE_H_
#define CGRAPH_COMPILER_ELABORATE_CALLS_STATE_H_

#include "compiler/elaborate/frame.h"

namespace cgraph::elaborate {

struct Work;

// The state's tensors at this instance: a tree with StateLeaf leaves.
const Value& LayoutOf(const Work& work, program::StateId state, const Frame& frame);

Tensor ReadState(Work& work, graph::StateId state);

Value ReadStates(Work& work, const Value& layout);

// `value` has the shape of `layout`: Adapt has seen to it.
void StoreState(Work& work, const Value& layout, const Value& value);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_CALLS_STATE_H_
