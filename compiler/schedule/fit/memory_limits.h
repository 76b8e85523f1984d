// Limits of devices' memory, and the bytes that are used whatever the order: state, constants,
// outputs. The rest is for slots.
#ifndef CGRAPH_COMPILER_SCHEDULE_FIT_MEMORY_LIMITS_H_
#define CGRAPH_COMPILER_SCHEDULE_FIT_MEMORY_LIMITS_H_

#include "compiler/schedule/passes.h"

namespace cgraph::schedule {

struct LeastMemory;  // least_memory.h

struct MemoryUse {
  int64_t state = 0, constants = 0, outputs = 0;  // of all that the device holds
  int64_t slots = 0;  // all copies: as packed, or at least (least_memory.h)
  int64_t fixed() const { return state + constants + outputs; }
  int64_t total() const { return fixed() + slots; }
};

// Returns what the topology and the options say of each device; nothing: no limit, or the caller.
DeviceLimits LimitsOfDevices(const graph::Module& module, const ScheduleOptions& options);

// Returns the least of these and of what rules say; nothing: no limit, or one that no order
// exceeds.
DeviceLimits MemoryLimits(const graph::Module& module, const graph::Graph& graph,
                          const DeviceLimits& of_devices, const Schedule& schedule);

// Returns the uses by device. Slots count from PlanMemory on.
std::vector<MemoryUse> MemoryUses(const graph::Module& module, const graph::Graph& graph,
                                  const Schedule& schedule);

// Returns by device the bytes that a copy of its slots may take, at least 0.
SlotLimits SlotLimitsOf(const DeviceLimits& limits, const std::vector<MemoryUse>& uses,
                        const graph::Graph& graph);

// Returns whether a device uses more than its limit.
bool Exceeds(const std::vector<MemoryUse>& uses, const DeviceLimits& limits);

// By graph, the start graph first, and device.
using UsesOfGraphs = std::vector<std::vector<MemoryUse>>;

// `schedules`: of the start graph, then of the module's graphs that are there.
UsesOfGraphs UsesOf(const graph::Module& module, const std::vector<Schedule>& schedules);

// Returns whether all graphs together keep `limits`. An engine holds room for all graphs of a
// module at once, so the start graph and they share what a device may hold.
bool FitTogether(const DeviceLimits& limits, const UsesOfGraphs& uses);
// Returns by graph its part of what the start graph leaves: what it needs at least (`least`) and,
// of the rest, a part in proportion to what it uses beyond that. Where not even the least of all
// fits, or nothing uses more, the parts are in proportion to the uses. A single graph gets all of
// it, and needs neither `least` nor `uses` but those of the start graph.
std::vector<DeviceLimits> ShareLimits(const graph::Module& module, const DeviceLimits& limits,
                                      const UsesOfGraphs& least, const UsesOfGraphs& uses);

// The report of a memory that is too small: by how much, where the most is needed and for what.
// `schedule` exceeds some of the limits (by device). `least`: null, or what the graph needs in
// every order where that exceeds a limit; `schedule` is then in program order.
void ReportMemory(const graph::Module& module, const graph::Graph& graph,
                  const DeviceLimits& limits, const DeviceLimits& of_devices,
                  const Schedule& schedule, const LeastMemory* least, Diagnostics& diagnostics);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_FIT_MEMORY_LIMITS_H_
