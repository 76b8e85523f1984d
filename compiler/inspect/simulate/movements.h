// What the instructions of a plan take on the machine that a topology states, and which shared
// resources those that move bytes hold.
#ifndef CGRAPH_COMPILER_INSPECT_SIMULATE_MOVEMENTS_H_
#define CGRAPH_COMPILER_INSPECT_SIMULATE_MOVEMENTS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "compiler/cost/costs.h"
#include "runtime/plan/plan.h"

namespace cgraph {

// By instruction: those that hold something. What meets has one, at its sender, or at the first
// part of a collective.
using Movements = std::map<uint32_t, cost::Movement>;

// Sets the times of everything that the topology says something of.
Movements ApplyTopology(const plan::Plan& plan, const plan::Graph& graph,
                        const cost::Topology& topology, std::vector<uint64_t>& durations);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_SIMULATE_MOVEMENTS_H_
