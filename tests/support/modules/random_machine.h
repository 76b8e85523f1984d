// Random machines for property tests: some pairs of gpus have a link and others none, and links
// share resources.
#ifndef CGRAPH_TESTS_SUPPORT_MODULES_RANDOM_MACHINE_H_
#define CGRAPH_TESTS_SUPPORT_MODULES_RANDOM_MACHINE_H_

#include <cstdint>

#include "compiler/cost/topology.h"
#include "compiler/graph/graph.h"

namespace cgraph::graph::testing {

// Returns a machine that has the module's devices. The same seed gives the same machine.
cost::Topology RandomMachine(const Module& module, uint32_t seed);

}  // namespace cgraph::graph::testing

#endif  // CGRAPH_TESTS_SUPPORT_MODULES_RANDOM_MACHINE_H_
