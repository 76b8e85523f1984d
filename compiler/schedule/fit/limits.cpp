#include "compiler/schedule/fit/limits.h"

#include <algorithm>

#include "compiler/graph/device_key.h"
#include "compiler/schedule/memory.h"

namespace cgraph::schedule {

namespace {

// Of a device of the machine that a topology states; nothing: it does not say.
std::optional<int64_t> MemoryOf(const cost::Topology* topology, const graph::Device& device) {
  if (topology == nullptr || !topology->machine) return std::nullopt;
  const cost::DeviceKey key = DeviceKeyOf(device);
  for (const cost::MachineDevice& known : topology->machine->devices) {
    if (known.key == key && known.memory > 0) return known.memory;
  }
  return std::nullopt;
}

// The smaller of two limits, each of which may be none.
std::optional<int64_t> Least(std::optional<int64_t> a, std::optional<int64_t> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

}  // namespace

std::vector<std::optional<int64_t>> MemoryLimits(const graph::Module& module,
                                                 const graph::Graph& graph,
                                                 const ScheduleOptions& options,
                                                 const Schedule& schedule) {
  std::vector<std::optional<int64_t>> limits(module.devices.size());
  for (graph::DeviceId device : module.devices.Ids()) {
    const bool computes = module.devices[device].kind != graph::DeviceKind::kCaller;
    std::optional<int64_t>& limit = limits[device.index];
    if (computes) limit = Least(options.memory, MemoryOf(options.topology, module.devices[device]));
    if (!graph.rules || graph.rules->memory.empty()) continue;
    limit = Least(limit, graph.rules->memory[device.index]);
  }
  std::vector<MemoryUse> most = MemoryUses(module, graph, schedule);
  for (MemoryUse& use : most) use.slots = 0;
  for (const Buffer& buffer : schedule.buffers) {
    if (buffer.space != Space::kSlot) continue;
    most[buffer.device.index].slots += Aligned(buffer.bytes) * graph.inflight;
  }
  for (size_t i = 0; i < limits.size(); ++i) {
    if (limits[i] && most[i].total() <= *limits[i]) limits[i].reset();
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
