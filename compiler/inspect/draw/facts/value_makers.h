// Which call made a value, also where it was copied or sent to.
#ifndef CGRAPH_COMPILER_INSPECT_DRAW_FACTS_VALUE_MAKERS_H_
#define CGRAPH_COMPILER_INSPECT_DRAW_FACTS_VALUE_MAKERS_H_

#include <cstdint>
#include <vector>

#include "runtime/plan/plan.h"

namespace cgraph {

// By value; kNone for what no call of an actor's method made: an input, a collective's result, what
// a graph's own ops compute.
std::vector<uint32_t> FindValueMakers(const plan::Plan& plan, const plan::Graph& graph);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_DRAW_FACTS_VALUE_MAKERS_H_
