// What a plan may ask for and this engine does not do.
#ifndef CGRAPH_RUNTIME_LOAD_SUPPORT_H_
#define CGRAPH_RUNTIME_LOAD_SUPPORT_H_

#include <cstdint>

#include "runtime/base/status.h"
#include "runtime/load/loaded_plan.h"
#include "runtime/plan/graph_index.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

// Each refuses with kUnsupported, and says why in a sentence.

// Refuses a plan that uses features which this engine does not have.
Status CheckSupported(const plan::Plan& plan);

// Refuses an instruction of a host's lane that touches memory which the host cannot
// reach.
Status CheckReach(const LoadedPlan& loaded, const plan::GraphIndex& index, uint32_t instruction);

// Refuses an instruction that touches memory of a GPU which another rank serves, other than as a
// communication. `number`: the graph's.
Status CheckRanks(const LoadedPlan& loaded, const plan::GraphIndex& index, uint32_t number,
                  uint32_t instruction);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_SUPPORT_H_
