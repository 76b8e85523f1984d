// Random modules for property tests: calls on one to four devices of mixed kinds, state, views,
// extents that come with inputs and extents that are computed, transports asked for, several
// graphs.
#ifndef CGRAPH_TESTS_SUPPORT_MODULES_RANDOM_MODULES_H_
#define CGRAPH_TESTS_SUPPORT_MODULES_RANDOM_MODULES_H_

#include <cstdint>

#include "compiler/graph/graph.h"

namespace cgraph::graph::testing {

// The same seed gives the same module. `nodes`: the devices are on so many machines.
Module RandomModule(uint32_t seed, uint32_t nodes = 1);

}  // namespace cgraph::graph::testing

#endif  // CGRAPH_TESTS_SUPPORT_MODULES_RANDOM_MODULES_H_
