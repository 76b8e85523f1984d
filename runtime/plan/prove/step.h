// One instruction of a refusal, in words.
#ifndef CGRAPH_RUNTIME_PLAN_PROVE_STEP_H_
#define CGRAPH_RUNTIME_PLAN_PROVE_STEP_H_

#include <cstdint>

#include "runtime/plan/graph_index.h"
#include "runtime/plan/prove.h"

namespace cgraph::plan::prove {

Step MakeStep(const GraphIndex& index, uint32_t instruction);

}  // namespace cgraph::plan::prove

#endif  // CGRAPH_RUNTIME_PLAN_PROVE_STEP_H_
