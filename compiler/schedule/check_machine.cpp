// CheckMachine: whether the program can stand on the machine that a topology states.
#include <set>

#include <fmt/format.h>

#include "compiler/cost/costs.h"
#include "compiler/graph/device_key.h"
#include "compiler/schedule/passes.h"

namespace cgraph::schedule {
namespace {

// Where the program speaks of a device first: a place on it, else an op.
Range PlaceOn(const graph::Module& module, const graph::Graph& graph, graph::DeviceId device) {
  for (const graph::Instance& instance : module.instances) {
    if (instance.device == device) return instance.range;
  }
  for (const graph::Op& op : graph.ops) {
    if (op.device == device) return op.range;
  }
  return graph.range;
}

}  // namespace

void CheckMachine(const graph::Module& module, const graph::Graph& graph, const Schedule& schedule,
                  const cost::Costs& costs, Diagnostics& diagnostics) {
  const std::optional<cost::Machine>& machine = costs.topology().machine;
  if (!machine) return;
  const std::string& name = costs.topology().name;
  std::set<graph::DeviceId> missing;
  for (const Lane& lane : schedule.lanes) {
    const cost::DeviceKey key = graph::DeviceKeyOf(module.devices[lane.device]);
    if (machine->Has(key) || !missing.insert(lane.device).second) continue;
    diagnostics.Report(Code::kE0614, PlaceOn(module, graph, lane.device),
                       fmt::format("the topology `{}` has no {}", name, cost::NameOf(key)));
  }
  std::set<std::pair<graph::DeviceId, graph::DeviceId>> seen;
  for (const Edge& edge : schedule.edges) {
    const cost::DeviceKey from = graph::DeviceKeyOf(module.devices[edge.from]);
    const cost::DeviceKey to = graph::DeviceKeyOf(module.devices[edge.to]);
    const bool reaches = edge.relay.valid() || costs.Reaches(from, to);
    if (!machine->Has(from) || !machine->Has(to) || reaches) continue;
    if (!seen.emplace(edge.from, edge.to).second) continue;
    diagnostics.Report(
        Code::kE0615, graph.values[edge.value].range,
        fmt::format("in the topology `{}` no link leads from {} to {}, and none through a host",
                    name, cost::NameOf(from), cost::NameOf(to)));
  }
}

}  // namespace cgraph::schedule
