// RefusalStep: an instruction of a refusal, in words.
#ifndef CGRAPH_RUNTIME_PLAN_PROVE_REFUSAL_STEP_H_
#define CGRAPH_RUNTIME_PLAN_PROVE_REFUSAL_STEP_H_

#include <cstdint>
#include <string>

#include "runtime/plan/graph_index.h"
#include "runtime/plan/prove.h"

namespace cgraph::plan::prove {

RefusalStep MakeStep(const GraphIndex& index, uint32_t instruction);
// Refuses a plan because of two instructions that are in conflict: "..., which writes `%v#0`".
Verdict RefusePair(const GraphIndex& index, Refusal refusal, const std::string& message,
                   uint32_t first, const std::string& first_does, uint32_t second,
                   const std::string& second_does);
// Returns " for the next execution"; "" for the same one.
std::string Later(int64_t executions);

}  // namespace cgraph::plan::prove

#endif  // CGRAPH_RUNTIME_PLAN_PROVE_REFUSAL_STEP_H_
