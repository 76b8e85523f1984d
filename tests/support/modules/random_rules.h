// Random rules for a random graph: kinds that cut across actors and methods, preferences, keys,
// limits that may block, orders, fused pairs, memory, or a search. Not every one can be kept.
#ifndef CGRAPH_TESTS_SUPPORT_MODULES_RANDOM_RULES_H_
#define CGRAPH_TESTS_SUPPORT_MODULES_RANDOM_RULES_H_

#include <cstdint>

#include "compiler/graph/graph.h"

namespace cgraph::graph::testing {

// The same seed gives the same rules.
Rules RandomRules(const Module& module, const Graph& graph, uint32_t seed);

}  // namespace cgraph::graph::testing

#endif  // CGRAPH_TESTS_SUPPORT_MODULES_RANDOM_RULES_H_
