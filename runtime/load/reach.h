// Reach: which memory an instruction may touch.
#ifndef CGRAPH_RUNTIME_LOAD_REACH_H_
#define CGRAPH_RUNTIME_LOAD_REACH_H_

#include <cstdint>

#include "runtime/base/status.h"
#include "runtime/load/loaded_plan.h"
#include "runtime/plan/graph_index.h"

namespace cgraph::engine {

// Refuses an instruction of a host's lane that touches memory which the host cannot: kUnsupported.
Status CheckReach(const LoadedPlan& loaded, const plan::GraphIndex& index,
                  uint32_t instruction);

// Refuses an instruction that touches memory of a GPU which another rank serves, other than as a
// communication. `number`: the graph's.
Status CheckRanks(const LoadedPlan& loaded, const plan::GraphIndex& index, uint32_t number,
                  uint32_t instruction);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_REACH_H_
