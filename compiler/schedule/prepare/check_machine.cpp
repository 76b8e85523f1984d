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

// Names the devices of a kind, those of one node first.
std::vector<std::string> NamesOf(const cost::Machine& machine, DeviceKind kind, uint32_t node) {
  std::vector<std::string> names;
  for (const bool there : {true, false}) {
    for (const cost::MachineDevice& device : machine.devices) {
      const bool of_node = device.key.node == node;
      if (device.key.kind == kind && of_node == there) names.push_back(DeviceName(device.key));
    }
  }
  return names;
}

// Says which nodes the machine has, if not that of a device that it lacks.
std::string OtherNodes(const cost::Machine& machine, uint32_t node) {
  std::set<uint32_t> nodes;
  for (const cost::MachineDevice& device : machine.devices) nodes.insert(device.key.node);
  if (nodes.empty() || nodes.contains(node)) return "";
  const std::string others =
      nodes.size() == 1 ? "" : fmt::format(", the last of which is node[{}]", *nodes.rbegin());
  return fmt::format(" (it is of {} node{}{})", nodes.size(), nodes.size() == 1 ? "" : "s", others);
}

// Says what to do about a device that the machine lacks: use those of its kind, of many the first.
std::string Instead(const cost::Topology& topology, const LogicalDevice& key, bool of_library) {
  constexpr size_t kMostNames = 8;
  const cost::Machine& machine = *topology.machine;
  std::vector<std::string> names = NamesOf(machine, key.kind, key.node);
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
  const std::string base = topology.name.substr(0, topology.name.find('('));
  const std::string sizes =
      topology.parameters.empty()
          ? ""
          : fmt::format("ask for more by the parameters of `{0}({1})`, as --topology "
                        "\"{0}(...)\", ",
                        base, topology.parameters);
  return fmt::format("use {}{}{}, {}or {}{}", names.size() > 1 ? "one of " : "",
                     fmt::join(names, ", "), more == 0 ? "" : fmt::format(" and {} more", more),
                     sizes, other, sharing);
}

// Returns two members of a collective, the second of which can get nothing from the first, whatever
// members and hosts pass it on; nothing where all are joined.
std::optional<std::pair<LogicalDevice, LogicalDevice>> FindApart(
    std::vector<LogicalDevice> members, const cost::Costs& costs) {
  std::sort(members.begin(), members.end());
  bool is_ring = true;
  for (size_t i = 0; i < members.size() && is_ring; ++i) {
    is_ring = costs.Reaches(members[i], members[(i + 1) % members.size()]);
  }
  if (is_ring) return std::nullopt;
  for (const bool out : {true, false}) {
    std::vector<LogicalDevice> left(members.begin() + 1, members.end()), joined = {members[0]};
    for (size_t at = 0; at < joined.size(); ++at) {
      std::vector<LogicalDevice> still;
      for (const LogicalDevice& other : left) {
        const bool reaches =
            out ? costs.Reaches(joined[at], other) : costs.Reaches(other, joined[at]);
        (reaches ? joined : still).push_back(other);
      }
      left = std::move(still);
    }
    if (!left.empty()) return out ? std::pair(members[0], left[0]) : std::pair(left[0], members[0]);
  }
  return std::nullopt;
}

class Ways {
 public:
  Ways(const graph::Module& module, const graph::Graph& graph, const cost::Costs& costs,
       Diagnostics& diagnostics)
      : module_(module), graph_(graph), costs_(costs), diagnostics_(diagnostics) {}

  void Check(const Edge& edge) {
    const LogicalDevice from = module_.devices[edge.from], to = module_.devices[edge.to];
    if (!Has(from) || !Has(to) || edge.relay.valid() || costs_.Reaches(from, to)) return;
    Report(from, to, graph_.values[edge.value].range);
  }

  void CheckCollective(const graph::Op& op) {
    std::vector<LogicalDevice> members;
    for (graph::DeviceId device : op.collective->participants) {
      members.push_back(module_.devices[device]);
      if (!Has(members.back())) return;
    }
    const auto apart = FindApart(std::move(members), costs_);
    if (apart) Report(apart->first, apart->second, op.range);
  }

 private:
  bool Has(const LogicalDevice& device) const {
    return costs_.topology().machine->Has(device);
  }

  void Report(const LogicalDevice& from, const LogicalDevice& to, Range range) {
    if (!seen_.emplace(from, to).second) return;
    const cost::Topology& topology = costs_.topology();
    Diagnostic& report = diagnostics_.Report(
        Code::kE0615, range,
        fmt::format("in the topology `{0}` no link leads from {1} to {2}, and none through a host; "
                    "state `link {1} -> {2}` there, or links of both with a cpu",
                    topology.name, DeviceName(from), DeviceName(to)));
    if (topology.range.valid()) report.AddNote(topology.range, "the topology");
  }

  const graph::Module& module_;
  const graph::Graph& graph_;
  const cost::Costs& costs_;
  Diagnostics& diagnostics_;
  std::set<std::pair<LogicalDevice, LogicalDevice>> seen_;
};

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
                                            fmt::format("the topology `{}` has no {}{}; {}", name,
                                                        DeviceName(key),
                                                        OtherNodes(*machine, key.node),
                                                        Instead(topology, key, of_library)));
    if (topology.range.valid()) report.AddNote(topology.range, "the topology");
  }
  Ways ways(module, graph, costs, diagnostics);
  for (const Edge& edge : schedule.edges) ways.Check(edge);
  for (const Step& step : schedule.steps) {
    if (step.kind == Step::kCollective) ways.CheckCollective(graph.ops[step.op]);
  }
}

}  // namespace cgraph::schedule
