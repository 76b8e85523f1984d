// CheckMachine: checks that the program fits on the machine that a topology states.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/cost/costs.h"
#include "compiler/graph/names.h"
#include "compiler/schedule/passes.h"

namespace cgraph::schedule {
namespace {

// Returns where the program names a device first: at a place on it, else at an op.
Range PlaceOn(const graph::Module& module, const graph::Graph& graph, graph::DeviceId device) {
  for (const graph::Instance& instance : module.instances) {
    if (instance.device == device) return instance.range;
  }
  for (const graph::Op& op : graph.ops) {
    if (op.device == device) return op.range;
  }
  return graph.range;
}

// Says what to do about a device that the machine lacks: use those of its kind, of many the first.
std::string Instead(const cost::Machine& machine, const LogicalDevice& key, bool of_library) {
  constexpr size_t kMostNames = 8;
  std::vector<std::string> names;
  for (const cost::MachineDevice& device : machine.devices) {
    if (device.key.kind == key.kind) names.push_back(DeviceName(device.key));
  }
  const std::string other =
      of_library ? "name another topology, of the library or of yours, that has it"
                 : fmt::format("state `device {}` there", DeviceName(key));
  if (names.empty()) return other;
  const size_t more = names.size() - std::min(names.size(), kMostNames);
  names.resize(names.size() - more);
  // A measured topology has the GPUs of the machine; programs may have more, which share them.
  const std::string sharing =
      key.kind == DeviceKind::kGpu && !of_library
          ? ". Each gpu of a topology is a GPU of its own: for gpus that share one (cgrun "
            "--device-map), compile without --topology"
          : "";
  return fmt::format("use {}{}{}, or {}{}", names.size() > 1 ? "one of " : "",
                     fmt::join(names, ", "), more == 0 ? "" : fmt::format(" and {} more", more),
                     other, sharing);
}

}  // namespace

void CheckMachine(const graph::Module& module, const graph::Graph& graph, const Schedule& schedule,
                  const cost::Costs& costs, Diagnostics& diagnostics) {
  const cost::Topology& topology = costs.topology();
  const std::optional<cost::Machine>& machine = topology.machine;
  if (!machine) return;
  const std::string& name = topology.name;
  const bool of_library =
      topology.range.valid() &&
      diagnostics.sources()[topology.range.source].kind == SourceKind::kLibrary;
  std::set<graph::DeviceId> missing;
  for (const Lane& lane : schedule.lanes) {
    const LogicalDevice key = module.devices[lane.device];
    if (machine->Has(key) || !missing.insert(lane.device).second) continue;
    Diagnostic& report = diagnostics.Report(Code::kE0614, PlaceOn(module, graph, lane.device),
                                            fmt::format("the topology `{}` has no {}; {}", name,
                                                        DeviceName(key),
                                                        Instead(*machine, key, of_library)));
    if (topology.range.valid()) report.AddNote(topology.range, "the topology");
  }
  std::set<std::pair<graph::DeviceId, graph::DeviceId>> seen;
  for (const Edge& edge : schedule.edges) {
    const LogicalDevice from = module.devices[edge.from];
    const LogicalDevice to = module.devices[edge.to];
    const bool reaches = edge.relay.valid() || costs.Reaches(from, to);
    if (!machine->Has(from) || !machine->Has(to) || reaches) continue;
    if (!seen.emplace(edge.from, edge.to).second) continue;
    Diagnostic& report = diagnostics.Report(
        Code::kE0615, graph.values[edge.value].range,
        fmt::format("in the topology `{0}` no link leads from {1} to {2}, and none through a host; "
                    "state `link {1} -> {2}` there, or links of both with a cpu",
                    name, DeviceName(from), DeviceName(to)));
    if (topology.range.valid()) report.AddNote(topology.range, "the topology");
  }
}

}  // namespace cgraph::schedule
