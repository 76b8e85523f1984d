// Calls of methods, and what their bodies see.
#ifndef CGRAPH_COMPILER_ELABORATE_CALLS_CALL_METHOD_H_
#define CGRAPH_COMPILER_ELABORATE_CALLS_CALL_METHOD_H_

#include "compiler/elaborate/frame.h"

namespace cgraph::elaborate {

struct ElaborationContext;

// What the method's body sees before its parameters are bound: those of its actor.
Frame FrameOf(const ElaborationContext& elaboration, const program::Method& method,
              graph::InstanceId id);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_CALLS_CALL_METHOD_H_
