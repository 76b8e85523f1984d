// Lower bounds of the makespan: what no order of the same operations on the same lanes can beat.
//
// Both follow from the plan's own meaning, its instructions by (execution, written): who reads
// what whom wrote, state over executions included. The longest path ignores that lanes run one
// instruction at a time; the busiest lane sums a lane's work and adds the least that must come
// before any of it and after all of it (for a pipeline's last stage: filling and draining).
#ifndef CGRAPH_COMPILER_INSPECT_SIMULATE_BOUNDS_H_
#define CGRAPH_COMPILER_INSPECT_SIMULATE_BOUNDS_H_

#include <cstdint>
#include <vector>

#include "runtime/plan/plan.h"

namespace cgraph {

struct LowerBounds {
  uint64_t longest_path = 0;
  uint64_t busiest_lane = 0;
};

// `durations` as of Durations(); the plan is one that CheckPlan accepts.
LowerBounds BoundMakespan(const plan::Plan& plan, const plan::Graph& graph,
                          const std::vector<uint64_t>& durations, uint32_t executions);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_SIMULATE_BOUNDS_H_
