// An op whose parameters are bound goes into the graph: where the home rule puts it, with its cost.
#ifndef CGRAPH_COMPILER_ELABORATE_OPS_EMIT_OP_H_
#define CGRAPH_COMPILER_ELABORATE_OPS_EMIT_OP_H_

#include "compiler/elaborate/ops/call_op.h"

namespace cgraph::elaborate {

struct ElaborationContext;

Value EmitOp(ElaborationContext& elaboration, const OpCall& call, Frame& op_frame);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_OPS_EMIT_OP_H_
