// Lower bounds of the makespan: what no order of the same operations on the same lanes can beat.
//
// Two follow from the plan's own meaning, its instructions by (execution, program order): which one
// reads what another one wrote, state over executions included. The longest path ignores that lanes
// run one instruction at a time; the bound through one lane sums that lane's work and adds the
// least that must come before any of it and after all of it (for a pipeline's last stage: filling
// and draining), and is the largest over all lanes. Two more are of what is shared: whatever the
// order, what goes through a resource takes its time there, and what lanes do alone their worker
// does one after the other.
#ifndef CGRAPH_COMPILER_INSPECT_SIMULATE_BOUNDS_H_
#define CGRAPH_COMPILER_INSPECT_SIMULATE_BOUNDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/inspect/simulate/contention.h"
#include "runtime/plan/placement.h"
#include "runtime/plan/plan.h"

namespace cgraph {

// All 0 for no executions.
struct LowerBounds {
  uint64_t longest_path = 0;
  uint64_t through_lane = 0;
  uint64_t busiest_resource = 0;
  std::string resource;  // which that is; empty: nothing is shared
  uint64_t busiest_worker = 0;
};

// `durations` as of Durations(); the plan is one that CheckPlan accepts. `placement`: null where
// each lane runs by itself.
LowerBounds BoundMakespan(const plan::Plan& plan, const plan::Graph& graph,
                          const std::vector<uint64_t>& durations, uint32_t executions,
                          const Contention& contention, const plan::Placement* placement);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_SIMULATE_BOUNDS_H_
