// What an op asks of its arguments beyond their types: its `where`, and what `same` can never find.
#ifndef CGRAPH_COMPILER_ELABORATE_OPS_WHERE_H_
#define CGRAPH_COMPILER_ELABORATE_OPS_WHERE_H_

#include "compiler/elaborate/ops/call_op.h"

namespace cgraph::elaborate {

struct ElaborationContext;

bool ApplyWhere(ElaborationContext& elaboration, const OpCall& call, Frame& op_frame);

// What `same` would find out in vain: extents that cannot be equal.
bool CheckSame(ElaborationContext& elaboration, const OpCall& call, Frame& op_frame);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_OPS_WHERE_H_
