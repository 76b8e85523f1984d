#include "compiler/schedule/ir.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "compiler/base/transport.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/names.h"

namespace cgraph {
namespace {

// Returns "the round before", "2 rounds before".
std::string Before(uint32_t lag, const char* what) {
  return lag == 1 ? fmt::format("the {} before", what)
                  : fmt::format("{} {}s before", lag, what);
}

using schedule::CollectivePart;
using schedule::Schedule;
using schedule::Step;
using schedule::ScheduleUnit;
using schedule::UnitId;

const char* LaneKindName(schedule::LaneKind kind) {
  switch (kind) {
    case schedule::LaneKind::kCompute: return "compute";
    case schedule::LaneKind::kComm: return "comm";
    case schedule::LaneKind::kSend: return "send";
    case schedule::LaneKind::kReceive: return "receive";
    case schedule::LaneKind::kCopyIn: return "copy in";
    case schedule::LaneKind::kCopyOut: return "copy out";
    case schedule::LaneKind::kInput: return "input";
    case schedule::LaneKind::kOutput: return "output";
  }
  return "";
}

// The ports that copies fill with what host memory holds already, by the copy: a value that is used
// elsewhere, too, keeps its own memory. What `via host` carries is copied by the lane that reads.
std::map<schedule::StepId, uint32_t> FindOutputCopies(const graph::Module& module,
                                                      const Schedule& schedule) {
  std::map<schedule::ValueLocationId, uint32_t> port_of;
  for (uint32_t port = 0; port < schedule.outputs.size(); ++port) {
    port_of.emplace(schedule.outputs[port], port);
  }
  std::map<schedule::StepId, uint32_t> found;
  for (schedule::StepId id : schedule.steps.Ids()) {
    const Step& step = schedule.steps[id];
    if (step.kind != Step::kCopy) continue;
    const auto port = port_of.find(step.outputs[0]);
    const graph::DeviceId source =
        schedule.buffers[schedule.locations[step.inputs[0]].buffer].device;
    if (port != port_of.end() && module.devices[source].kind != DeviceKind::kGpu &&
        schedule.lanes[step.lane].device == source) {
      found.emplace(id, port->second);
    }
  }
  return found;
}

class SchedulePrinter {
 public:
  SchedulePrinter(const graph::Module& module, const graph::Graph& graph, const Schedule& schedule,
                  const Sources* sources, llvm::raw_ostream& out)
      : module_(module), graph_(graph), schedule_(schedule), sources_(sources),
        output_copies_(FindOutputCopies(module, schedule)), out_(out) {}

  void Run() {
    out_ << "schedule " << graph_.name << (schedule_.overlap ? "" : " overlap off");
    const bool communicates = std::any_of(
        schedule_.lanes.begin(), schedule_.lanes.end(), [](const schedule::Lane& lane) {
          using enum schedule::LaneKind;
          return lane.kind == kComm || lane.kind == kSend || lane.kind == kReceive;
        });
    if (communicates) out_ << ", lanes " << CommLanesName(schedule_.comm_lanes);
    out_ << "\n";
    for (schedule::LaneId lane : schedule_.lanes.Ids()) {
      out_ << "  " << LaneName(lane) << "\n";
      for (UnitId unit : schedule_.lanes[lane].units) PrintUnit(unit);
    }
  }

 private:
  std::string LaneName(schedule::LaneId id) const {
    const schedule::Lane& lane = schedule_.lanes[id];
    const std::string name =
        DeviceName(module_.devices[lane.device]) + " " + LaneKindName(lane.kind);
    return lane.peer.valid() ? name + " " + DeviceName(module_.devices[lane.peer]) : name;
  }

  // Units are named by where they stand: "gpu[0] compute.3".
  std::string UnitName(UnitId id) const {
    const ScheduleUnit& unit = schedule_.units[id];
    return fmt::format("{}.{}", LaneName(unit.lane), unit.index);
  }

  std::string ValueName(schedule::ValueLocationId id) const {
    return graph::ValueName(graph_, graph_.values[schedule_.locations[id].value], sources_);
  }

  std::string ValueNames(const std::vector<schedule::ValueLocationId>& ids) const {
    std::string text;
    for (schedule::ValueLocationId id : ids) text += (text.empty() ? "" : " ") + ValueName(id);
    return text;
  }

  std::string CollectiveText(UnitId id, const Step& step) const {
    const CollectivePart& part = step.parts[id.index - schedule_.units[id].first_part.index];
    std::string text = CallName(module_, graph_.calls[step.call]);
    if (!part.inputs.empty()) text += " " + ValueNames(part.inputs);
    text += " of";
    for (schedule::LaneId lane : schedule_.groups[step.group].lanes) {
      text += " " + DeviceName(module_.devices[schedule_.lanes[lane].device]);
    }
    return text + " by " + TransportName(step.by).str();
  }

  // Returns the call of a unit, or those that are fused into it.
  std::string CallNames(const ScheduleUnit& unit) const {
    std::string text;
    graph::CallId last;
    for (uint32_t i = 0; i < unit.count; ++i) {
      const graph::CallId call = schedule_.steps[schedule::StepId(unit.first.index + i)].call;
      if (i > 0 && call == last) continue;
      text += (i == 0 ? "" : " + ") + CallName(module_, graph_.calls[call]);
      last = call;
    }
    return text;
  }

  std::string StepText(const ScheduleUnit& unit) const {
    const Step& step = schedule_.steps[unit.first];
    switch (step.kind) {
      case Step::kCall: case Step::kLoad: return CallNames(unit);
      case Step::kInput: return "input " + graph_.inputs[step.port].name;
      case Step::kOutput: return "output " + graph_.outputs[step.port].name;
      case Step::kCollective: break;
      case Step::kCopy:
        return "copy " + ValueName(step.inputs[0]) + " to " + TargetOf(unit.first);
      case Step::kTransfer: {
        const bool receives = unit.sender.valid();
        return fmt::format("{} {} {} {} by {}", receives ? "receive" : "send",
                           ValueNames(step.inputs), receives ? "from" : "to",
                           LaneName(receives ? step.lane : step.to_lane),
                           TransportName(schedule_.channels[step.channel].transport).str());
      }
    }
    return "";
  }

  std::string TargetOf(schedule::StepId copy) const {
    const auto output = output_copies_.find(copy);
    if (output != output_copies_.end()) return "output " + graph_.outputs[output->second].name;
    return DeviceName(module_.devices[BufferOf(schedule_.steps[copy].outputs[0]).device]);
  }

  const schedule::Buffer& BufferOf(schedule::ValueLocationId id) const {
    return schedule_.buffers[schedule_.locations[id].buffer];
  }

  void PrintUnit(UnitId id) const {
    const ScheduleUnit& unit = schedule_.units[id];
    const Step& step = schedule_.steps[unit.first];
    out_ << fmt::format("    {}: {}", unit.index,
                        step.kind == Step::kCollective ? CollectiveText(id, step)
                                                       : StepText(unit));
    if (step.lag > 0) out_ << "  for " << Before(step.lag, "execution");
    const char* separator = "  after ";
    for (const schedule::Wait& wait : unit.waits) {
      out_ << separator << UnitName(wait.unit);
      if (wait.lag > 0) out_ << " of " << Before(wait.lag, "round");
      separator = ", ";
    }
    out_ << "\n";
  }

  const graph::Module& module_;
  const graph::Graph& graph_;
  const Schedule& schedule_;
  const Sources* sources_;
  const std::map<schedule::StepId, uint32_t> output_copies_;  // ports
  llvm::raw_ostream& out_;
};

// The outputs that are copies, by what they are copies of.
std::map<graph::ValueId, std::vector<std::string>> CopiedOutputs(const graph::Module& module,
                                                                 const graph::Graph& graph,
                                                                 const Schedule& schedule) {
  std::map<graph::ValueId, std::vector<std::string>> copied;
  for (const auto& [step, port] : FindOutputCopies(module, schedule)) {
    const schedule::ValueLocationId source = schedule.steps[step].inputs[0];
    copied[schedule.locations[source].value].push_back(graph.outputs[port].name);
  }
  return copied;
}

const graph::Graph& GraphOf(const graph::Module& module, size_t schedule) {
  return schedule == 0 ? module.start : module.graphs[schedule - 1];
}

void PrintEdges(const graph::Module& module, const graph::Graph& graph, const Schedule& schedule,
                const Sources* sources, llvm::raw_ostream& out) {
  const auto name = [&](graph::ValueId id) {
    return graph::ValueName(graph, graph.values[id], sources);
  };
  std::map<graph::ValueId, std::vector<std::string>> copied =
      CopiedOutputs(module, graph, schedule);
  for (const schedule::Edge& edge : schedule.edges) {
    const LogicalDevice& to = module.devices[edge.to];
    std::string why = edge.why;
    if (const auto outputs = copied.find(edge.value);
        to.kind == DeviceKind::kCaller && outputs != copied.end()) {
      why = WhyWithCopies(edge.chosen.transport, why, outputs->second);
      copied.erase(outputs);
    }
    const std::string relay =
        edge.relay.valid() ? " through " + DeviceName(module.devices[edge.relay]) : "";
    out << fmt::format("  {}: {} -> {} by {}{} ({})\n", name(edge.value),
                       DeviceName(module.devices[edge.from]), DeviceName(to),
                       TransportText(edge.chosen), relay, why);
  }
  for (const auto& [value, outputs] : copied) {  // what is the caller's own travels no way
    out << fmt::format("  {}: {}\n", name(value), CopiedText(outputs));
  }
}

void PrintCollectiveChoices(const graph::Module& module, const graph::Graph& graph,
                            const Schedule& schedule, const Sources* sources,
                            llvm::raw_ostream& out) {
  for (const schedule::CollectiveChoice& choice : schedule.collective_choices) {
    const graph::Op& op = graph.ops[choice.op];
    out << "  " << op.name;
    for (const graph::Use& use : op.operands) {
      out << " " << graph::ValueName(graph, graph.values[use.value], sources);
    }
    out << " of";
    for (graph::DeviceId id : op.collective->participants) {
      out << " " << DeviceName(module.devices[id]);
    }
    out << " by " << TransportName(choice.chosen) << " (" << choice.why << ")\n";
  }
}

}  // namespace

void PrintSchedule(const graph::Module& module, const std::vector<Schedule>& schedules,
                   const Sources* sources, llvm::raw_ostream& out) {
  for (size_t i = 0; i < schedules.size(); ++i) {
    SchedulePrinter(module, GraphOf(module, i), schedules[i], sources, out).Run();
  }
}

void PrintTransports(const graph::Module& module, const std::vector<Schedule>& schedules,
                     const Sources* sources, llvm::raw_ostream& out) {
  for (size_t i = 0; i < schedules.size(); ++i) {
    const graph::Graph& graph = GraphOf(module, i);
    out << "transports " << graph.name << "\n";
    PrintEdges(module, graph, schedules[i], sources, out);
    PrintCollectiveChoices(module, graph, schedules[i], sources, out);
  }
}

}  // namespace cgraph
