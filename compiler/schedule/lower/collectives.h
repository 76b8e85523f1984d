// Collectives: one step with a part at every participant; or, through host memory, the caller's.
#ifndef CGRAPH_COMPILER_SCHEDULE_LOWER_COLLECTIVES_H_
#define CGRAPH_COMPILER_SCHEDULE_LOWER_COLLECTIVES_H_

#include "compiler/schedule/lower/lowering_context.h"

namespace cgraph::schedule {

void AddCollective(LoweringContext& lowering, graph::OpId id);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_LOWER_COLLECTIVES_H_
