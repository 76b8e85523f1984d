// Stages: how many a schedule is told that a pipeline has, and how many there are.
#ifndef CGRAPH_COMPILER_ELABORATE_RULES_STAGES_H_
#define CGRAPH_COMPILER_ELABORATE_RULES_STAGES_H_

#include <cstdint>
#include <map>

#include "compiler/elaborate/frame.h"

namespace cgraph::elaborate {

struct ElaborationContext;

// Warns where a rule has `stages - index`, for a parameter of the schedule, and the value of that
// is not the number of the pipeline's devices: of those with calls that the rules name, whose
// `positions` these are, and of those with calls between them, as a loss on a device of its own is.
// Warns, too, where the index that `along` names counts copies of the pipeline. The graph calls
// each method that the rules name; one that does not is no such pipeline.
void CheckStages(ElaborationContext& elaboration, const program::Using& use,
                 const program::Schedule& schedule, const Frame& frame, const graph::Graph& graph,
                 const graph::Rules& rules, const std::map<graph::DeviceId, int64_t>& positions);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_RULES_STAGES_H_
