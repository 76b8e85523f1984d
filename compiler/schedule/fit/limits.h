// What the memory of a device may hold, and what of it is there whatever the order: state,
// constants, outputs. The rest is for slots.
#ifndef CGRAPH_COMPILER_SCHEDULE_FIT_LIMITS_H_
#define CGRAPH_COMPILER_SCHEDULE_FIT_LIMITS_H_

#include "compiler/schedule/passes.h"

namespace cgraph::schedule {

struct MemoryUse {
  int64_t state = 0, constants = 0, outputs = 0;  // of all that the device holds
  int64_t slots = 0;                              // all copies, as packed
  int64_t fixed() const { return state + constants + outputs; }
  int64_t total() const { return fixed() + slots; }
};

// By device: the least of what rules, the topology and the options say; nothing: no limit, or one
// that no order exceeds.
std::vector<std::optional<int64_t>> MemoryLimits(const graph::Module& module,
                                                 const graph::Graph& graph,
                                                 const ScheduleOptions& options,
                                                 const Schedule& schedule);

// By device. Slots count from PlanMemory on.
std::vector<MemoryUse> MemoryUses(const graph::Module& module, const graph::Graph& graph,
                                  const Schedule& schedule);

// By device: what a copy of its slots may take. At least 0.
SlotLimits SlotLimitsOf(const std::vector<std::optional<int64_t>>& limits,
                        const std::vector<MemoryUse>& uses, const graph::Graph& graph);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_FIT_LIMITS_H_
