#include "compiler/schedule/fit/limits.h"

#include <algorithm>

namespace cgraph::schedule {

std::vector<std::optional<int64_t>> MemoryLimits(const graph::Module& module,
                                                 const graph::Graph& graph,
                                                 const ScheduleOptions& options) {
  std::vector<std::optional<int64_t>> limits(module.devices.size());
  for (graph::DeviceId device : module.devices.Ids()) {
    const bool computes = module.devices[device].kind != graph::DeviceKind::kCaller;
    if (computes) limits[device.index] = options.memory;
    if (!graph.rules || graph.rules->memory.empty()) continue;
    const std::optional<int64_t>& stated = graph.rules->memory[device.index];
    if (stated) limits[device.index] = stated;
  }
  return limits;
}

std::vector<MemoryUse> MemoryUses(const graph::Module& module, const graph::Graph& graph,
                                  const Schedule& schedule) {
  std::vector<MemoryUse> uses(module.devices.size());
  for (graph::InstanceId instance : module.instances.Ids()) {
    uses[module.instances[instance].device.index].state += LayOutState(module, instance).bytes;
  }
  for (const Buffer& buffer : schedule.buffers) {
    MemoryUse& use = uses[buffer.device.index];
    const int64_t bytes = Aligned(buffer.bytes);
    switch (buffer.space) {
      case Space::kSlot:
        use.slots = std::max(use.slots, (buffer.offset + bytes) * graph.inflight);
        break;
      case Space::kConstant: use.constants += bytes; break;
      case Space::kOutput: use.outputs += bytes * graph.inflight; break;
      case Space::kState: case Space::kInput: break;
    }
  }
  return uses;
}

SlotLimits SlotLimitsOf(const std::vector<std::optional<int64_t>>& limits,
                        const std::vector<MemoryUse>& uses, const graph::Graph& graph) {
  SlotLimits slots(limits.size());
  for (size_t device = 0; device < limits.size(); ++device) {
    if (!limits[device]) continue;
    slots[device] =
        std::max<int64_t>(0, (*limits[device] - uses[device].fixed()) / graph.inflight);
  }
  return slots;
}

}  // namespace cgraph::schedule
