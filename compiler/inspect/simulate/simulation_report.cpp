#include "compiler/inspect/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "compiler/cost/costs.h"
#include "compiler/cost/topology.h"
#include "llvm/Support/JSON.h"
#include "runtime/base/kinds/comm_lanes.h"
#include "runtime/base/text.h"
#include "runtime/plan/graph_index.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/load.h"
#include "runtime/plan/print.h"

namespace cgraph {
namespace {

std::string GraphName(const plan::Plan& plan, uint32_t graph) {
  return graph == plan::kNone ? "start" : plan.graphs[graph]->name;
}

std::string Percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

// Returns what was simulated: "2 executions", "2 rounds of at most 10, one after the other".
std::string PlayedText(const plan::Plan& plan, uint32_t graph, uint32_t executions) {
  const plan::Graph& of = plan::GraphAt(plan, graph);
  if (of.repeat != nullptr) {
    return fmt::format("{} of at most {}{}", Counted(executions, "round"), of.repeat->limit,
                       executions > 1 ? ", one after the other" : "");
  }
  const bool is_before = graph != plan::kNone && plan::IsBefore(plan, graph);
  return Counted(executions, "execution") + (is_before ? ", before the first round" : "");
}

// Aligns columns: the first to the left, all others to the right.
std::string Align(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows) {
    for (size_t column = 0; column < row.size(); ++column) {
      widths[column] = std::max(widths[column], row[column].size());
    }
  }
  std::string text;
  for (const auto& row : rows) {
    text += fmt::format("{:<{}}", row[0], widths[0]);
    for (size_t column = 1; column < row.size(); ++column) {
      text += fmt::format("  {:>{}}", row[column], widths[column]);
    }
    text += '\n';
  }
  return text;
}

// A device that never computes has no bubble: copies alone would seem to be without one.
llvm::json::Value BubbleJson(bool computes, double bubble) {
  return computes ? llvm::json::Value(bubble) : llvm::json::Value(nullptr);
}

std::string StuckText(const std::string& name, const Simulation& simulation) {
  std::string text = fmt::format("graph {}: deadlocks; each of these lanes waits for ever\n", name);
  for (const std::string& line : simulation.stuck) {
    text += "  " + line + "\n";
  }
  return text;
}

// Describes the other bounds of the makespan.
std::string SharedText(const Simulation& simulation) {
  std::string text;
  if (!simulation.workers.empty()) {
    text += ", busiest worker " + TimeText(simulation.busiest_worker);
  }
  if (!simulation.resource.empty()) {
    text += fmt::format(", {} {}", simulation.resource, TimeText(simulation.busiest_resource));
  }
  return text;
}

std::string WorkersTable(const Simulation& simulation) {
  if (simulation.workers.empty()) return "";
  std::vector<std::vector<std::string>> rows = {{"worker", "busy", "waiting"}};
  for (size_t worker = 0; worker < simulation.workers.size(); ++worker) {
    rows.push_back({std::to_string(worker), TimeText(simulation.workers[worker]),
                    TimeText(simulation.makespan - simulation.workers[worker])});
  }
  return Align(rows);
}

// Returns the devices of a plan by machine, kind and index; a plan has them as its places come.
std::vector<uint32_t> DevicesInOrder(const plan::Plan& plan) {
  std::vector<uint32_t> devices(plan.devices.size());
  std::iota(devices.begin(), devices.end(), 0);
  std::sort(devices.begin(), devices.end(), [&](uint32_t a, uint32_t b) {
    const auto key = [&](uint32_t device) {
      const LogicalDevice of = plan::LogicalDeviceOf(*plan.devices[device]);
      return std::tuple(of.node, of.kind, of.index);
    };
    return key(a) < key(b);
  });
  return devices;
}

// Returns how many lanes devices have for their exchanges with others; nothing: they have none.
std::optional<CommLanes> CommLanesOf(const plan::Plan& plan, uint32_t graph) {
  const plan::Graph& of = plan::GraphAt(plan, graph);
  std::optional<CommLanes> lanes;
  std::set<std::pair<uint32_t, uint32_t>> peers;  // device, peer
  for (uint32_t lane = 0; lane < of.programs.size(); ++lane) {
    const plan::LaneInfo& info = plan.lanes[lane];
    if (of.programs[lane].count() == 0 || info.kind() != plan::LaneKind::comm) continue;
    lanes = std::max(lanes, std::optional(CommLanes::kOne));
    if (info.peer() == plan::kNone) continue;
    const bool is_first = peers.emplace(info.device(), info.peer()).second;
    lanes = std::max(lanes, std::optional(is_first ? CommLanes::kPeer : CommLanes::kEdge));
  }
  return lanes;
}

// Returns the number of lanes as --lanes names it; empty: nothing is exchanged.
std::string CommLanesText(const plan::Plan& plan, uint32_t graph) {
  const std::optional<CommLanes> lanes = CommLanesOf(plan, graph);
  return lanes ? CommLanesName(*lanes) : "";
}

// "67 TFLOPS", of operations per microsecond.
std::string FlopsText(uint64_t per_us) {
  constexpr uint64_t kTeraPerMicrosecond = 1'000'000;
  return per_us >= kTeraPerMicrosecond ? fmt::format("{:.4g} TFLOPS", per_us / 1e6)
                                       : fmt::format("{:.4g} GFLOPS", per_us / 1e3);
}

std::string RatesText(const cost::DeviceRates& rates) {
  std::string text = FlopsText(rates.flops_per_us);
  if (rates.f16_flops_per_us != 0) text += ", of f16 " + FlopsText(rates.f16_flops_per_us);
  if (rates.f64_flops_per_us != 0) text += ", of f64 " + FlopsText(rates.f64_flops_per_us);
  return text + fmt::format(", {:g} GB/s", rates.memory_bytes_per_us / 1e3);
}

// Returns a line with what the devices of each kind compute and move; of a kind whose devices
// differ, the first ones. Empty where the caller has all.
std::string RatesText(const plan::Plan& plan, const cost::Topology& topology) {
  constexpr size_t kMost = 4;  // of a kind
  const cost::Costs costs(topology);
  std::map<DeviceKind, std::vector<std::pair<LogicalDevice, std::string>>> different;
  for (const auto& device : plan.devices) {
    const LogicalDevice key = plan::LogicalDeviceOf(*device);
    if (key.kind == DeviceKind::kCaller) continue;
    const std::string rates = RatesText(costs.RatesOf(key));
    auto& known = different[key.kind];
    const bool is_new = std::none_of(known.begin(), known.end(), [&](const auto& other) {
      return other.second == rates;
    });
    if (is_new && known.size() < kMost) known.push_back({key, rates});
  }
  std::string text;
  for (const auto& [kind, devices] : different) {
    for (const auto& [key, rates] : devices) {
      const std::string name = devices.size() > 1 ? DeviceName(key)
                                                  : kDeviceKindNames[static_cast<size_t>(kind)];
      text += (text.empty() ? "rates: " : "; ") + name + " " + rates;
    }
  }
  return text.empty() ? "" : text + "\n";
}

}  // namespace

std::string BubbleText(const Simulation& simulation) {
  if (simulation.computes()) return "bubble " + Percent(simulation.bubble());
  return simulation.makespan == 0 ? "nothing takes time" : "no bubble: no device computes";
}

std::string MachineText(const plan::Plan& plan, const cost::Topology* stated) {
  const cost::Topology& assumed = cost::AssumedTopology();
  const std::string& name = stated != nullptr ? stated->name : plan.topology;
  const bool is_assumed = name == assumed.name;
  const bool has_nodes = std::any_of(plan.devices.begin(), plan.devices.end(),
                                     [](const auto& device) { return device->node > 0; });
  std::string text = "machine: " + name;
  if (is_assumed && has_nodes) {
    const uint64_t rate = assumed.network.bytes_per_us / 1000;  // GB/s
    text += fmt::format(", {} GB/s and {} each way between machines (assumed)", rate,
                        TimeText(assumed.network.latency_ps));
  }
  text += is_assumed ? "; --topology states another\n" : "\n";
  if (has_nodes) text += "between machines: times are bounds, what the network lets through\n";
  if (is_assumed) stated = &assumed;
  return stated != nullptr ? text + RatesText(plan, *stated) : text;
}

std::string CostlessText(const std::vector<std::string>& methods) {
  constexpr size_t kMost = 8;
  if (methods.empty()) return "";
  const std::vector<std::string> shown(methods.begin(),
                                       methods.begin() + std::min(methods.size(), kMost));
  return fmt::format(
      "without a cost: {}, which count{} as 0 operations: {}{}; `cost(flops: ...)` behind "
      "`extern` states it, or --profile\n",
      Counted(methods.size(), "method") + " in native code or Python",
      methods.size() == 1 ? "s" : "", fmt::join(shown, ", "),
      methods.size() > kMost ? fmt::format(", and {} more", methods.size() - kMost) : "");
}

std::string SimulationTable(const plan::Plan& plan, uint32_t graph, const Simulation& simulation) {
  const std::string name = GraphName(plan, graph);
  if (simulation.deadlocks()) {
    return StuckText(name, simulation);
  }
  std::vector<std::vector<std::string>> rows = {
      {"device", "busy", "transfer", "waiting", "bubble", "memory"}};
  for (uint32_t device : DevicesInOrder(plan)) {
    const DeviceTimes& times = simulation.devices[device];
    rows.push_back({plan::DeviceName(plan, device), TimeText(times.busy), TimeText(times.transfer),
                    TimeText(times.waiting),
                    times.busy == 0 ? "no compute" : Percent(simulation.bubble(device)),
                    BytesText(simulation.memory[device])});
  }
  const std::string lanes = CommLanesText(plan, graph);
  return fmt::format("graph {}: {}\n", name, PlayedText(plan, graph, simulation.executions)) +
         Align(rows) + WorkersTable(simulation) +
         fmt::format("makespan     {} ({})\n", TimeText(simulation.makespan),
                     BubbleText(simulation)) +
         fmt::format("lower bound  {} (longest path {}, through one lane {}{}): the gap is {}\n",
                     TimeText(simulation.lower_bound()), TimeText(simulation.longest_path),
                     TimeText(simulation.through_lane), SharedText(simulation),
                     Percent(simulation.gap())) +
         (lanes.empty() ? "" : "comm lanes   " + lanes + "\n");
}

llvm::json::Value SimulationJson(const plan::Plan& plan, uint32_t graph,
                                 const Simulation& simulation) {
  llvm::json::Object object{{"graph", GraphName(plan, graph)},
                            {"executions", int64_t{simulation.executions}},
                            {"deadlocks", simulation.deadlocks()}};
  if (simulation.deadlocks()) {
    object["stuck"] = llvm::json::Array(simulation.stuck);
    return object;
  }
  llvm::json::Array devices;
  for (uint32_t device : DevicesInOrder(plan)) {
    const DeviceTimes& times = simulation.devices[device];
    devices.push_back(
        llvm::json::Object{{"name", plan::DeviceName(plan, device)},
                           {"busy_ps", times.busy},
                           {"transfer_ps", times.transfer},
                           {"waiting_ps", times.waiting},
                           {"bubble", BubbleJson(times.busy > 0, simulation.bubble(device))},
                           {"memory_bytes", simulation.memory[device]}});
  }
  object["makespan_ps"] = simulation.makespan;
  object["lower_bound_ps"] = simulation.lower_bound();
  object["longest_path_ps"] = simulation.longest_path;
  object["through_lane_ps"] = simulation.through_lane;
  if (!simulation.resource.empty()) {
    object["busiest_resource"] = simulation.resource;
    object["busiest_resource_ps"] = simulation.busiest_resource;
  }
  if (!simulation.workers.empty()) {
    llvm::json::Array workers;
    for (uint64_t busy : simulation.workers) {
      workers.push_back(
          llvm::json::Object{{"busy_ps", busy}, {"waiting_ps", simulation.makespan - busy}});
    }
    object["workers"] = std::move(workers);
    object["busiest_worker_ps"] = simulation.busiest_worker;
  }
  object["gap"] = simulation.gap();
  object["bubble"] = BubbleJson(simulation.computes(), simulation.bubble());
  object["lanes"] = CommLanesText(plan, graph);
  object["devices"] = std::move(devices);
  return object;
}

}  // namespace cgraph
