#include "compiler/schedule/fit/memory_limits.h"

#include <algorithm>

#include "compiler/graph/names.h"
#include "compiler/schedule/memory/layout.h"

namespace cgraph::schedule {

namespace {

// Returns the memory of a device of the machine that a topology states; nothing where it does not
// say.
std::optional<int64_t> MemoryOf(const cost::Topology* topology, const LogicalDevice& device) {
  if (topology == nullptr || !topology->machine) return std::nullopt;
  for (const cost::MachineDevice& known : topology->machine->devices) {
    if (known.key == device && known.memory > 0) return known.memory;
  }
  return std::nullopt;
}

// Returns the smaller of two limits, each of which may be none.
std::optional<int64_t> Least(std::optional<int64_t> a, std::optional<int64_t> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

}  // namespace

DeviceLimits LimitsOfDevices(const graph::Module& module, const ScheduleOptions& options) {
  DeviceLimits limits(module.devices.size());
  for (graph::DeviceId device : module.devices.Ids()) {
    if (module.devices[device].kind == DeviceKind::kCaller) continue;
    limits[device.index] =
        Least(options.memory, MemoryOf(options.topology, module.devices[device]));
  }
  return limits;
}

DeviceLimits MemoryLimits(const graph::Module& module, const graph::Graph& graph,
                          const DeviceLimits& of_devices, const Schedule& schedule) {
  DeviceLimits limits = of_devices;
  if (graph.rules && !graph.rules->memory.empty()) {
    for (size_t i = 0; i < limits.size(); ++i) {
      limits[i] = Least(limits[i], graph.rules->memory[i]);
    }
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

SlotLimits SlotLimitsOf(const DeviceLimits& limits, const std::vector<MemoryUse>& uses,
                        const graph::Graph& graph) {
  SlotLimits slots(limits.size());
  for (size_t device = 0; device < limits.size(); ++device) {
    if (!limits[device]) continue;
    slots[device] =
        std::max<int64_t>(0, (*limits[device] - uses[device].fixed()) / graph.inflight);
  }
  return slots;
}

bool Exceeds(const std::vector<MemoryUse>& uses, const DeviceLimits& limits) {
  for (size_t i = 0; i < limits.size(); ++i) {
    if (limits[i] && uses[i].total() > *limits[i]) return true;
  }
  return false;
}

UsesOfGraphs UsesOf(const graph::Module& module, const std::vector<Schedule>& schedules) {
  UsesOfGraphs uses = {MemoryUses(module, module.start, schedules[0])};
  for (size_t i = 1; i < schedules.size(); ++i) {
    uses.push_back(MemoryUses(module, module.graphs[i - 1], schedules[i]));
  }
  return uses;
}

namespace {

// Returns the bytes of a device that the graphs take besides the states, which are there once.
int64_t OfGraphs(const UsesOfGraphs& uses, size_t device) {
  int64_t bytes = 0;
  for (size_t i = 1; i < uses.size(); ++i) {
    bytes += uses[i][device].total() - uses[i][device].state;
  }
  return bytes;
}

// Returns what a graph that uses `own` gets of `left` bytes, of all that use `all`; the same names
// with `least`: what is needed at least.
int64_t PartOf(int64_t left, int64_t own, int64_t all, int64_t own_least, int64_t all_least) {
  if (all <= all_least || left < all_least) own_least = all_least = 0;
  const auto rest = static_cast<__int128>(left - all_least);
  return own_least + static_cast<int64_t>(rest * (own - own_least) / (all - all_least));
}

}  // namespace

bool FitTogether(const DeviceLimits& limits, const UsesOfGraphs& uses) {
  for (size_t device = 0; device < limits.size(); ++device) {
    const int64_t bytes = uses[0][device].total() + OfGraphs(uses, device);
    if (limits[device] && bytes > *limits[device]) return false;
  }
  return true;
}

std::vector<DeviceLimits> ShareLimits(const graph::Module& module, const DeviceLimits& limits,
                                      const UsesOfGraphs& least, const UsesOfGraphs& uses) {
  std::vector<DeviceLimits> shares(module.graphs.size(), limits);
  for (size_t device = 0; device < limits.size(); ++device) {
    if (!limits[device]) continue;
    const int64_t state = uses[0][device].state;
    const int64_t left = *limits[device] - uses[0][device].total();
    const int64_t all = OfGraphs(uses, device);
    for (size_t i = 0; i < shares.size(); ++i) {
      int64_t part = left;
      if (shares.size() > 1 && left > 0 && all > 0) {
        part = PartOf(left, uses[i + 1][device].total() - state, all,
                      least[i + 1][device].total() - state, OfGraphs(least, device));
      }
      shares[i][device] = std::max<int64_t>(0, state + part);
    }
  }
  return shares;
}

}  // namespace cgraph::schedule
