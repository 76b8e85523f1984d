// `via`, `on` and `after`: how a value travels on, where ops run, and what they wait for.
#ifndef CGRAPH_COMPILER_ELABORATE_EXPRESSIONS_MODIFIERS_H_
#define CGRAPH_COMPILER_ELABORATE_EXPRESSIONS_MODIFIERS_H_

#include "compiler/base/transport.h"
#include "compiler/elaborate/frame.h"

namespace cgraph::elaborate {

struct ElaborationContext;

// `via` around a collective says how the collective goes, not where its results go next.
Value EvaluateVia(ElaborationContext& elaboration, program::ExprId base,
                  const TransportRequest& via, Frame& frame, Expected expected);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_EXPRESSIONS_MODIFIERS_H_
