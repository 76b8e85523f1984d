#include "compiler/schedule/print.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/graph/print.h"
#include "compiler/graph/value_names.h"

namespace cgraph {
namespace {

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

class SchedulePrinter {
 public:
  SchedulePrinter(const graph::Module& module, const graph::Graph& graph, const Schedule& schedule,
                  const Sources* sources, llvm::raw_ostream& out)
      : module_(module), graph_(graph), schedule_(schedule), sources_(sources), out_(out) {}

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

  std::string StepText(const ScheduleUnit& unit, const Step& step) const {
    switch (step.kind) {
      case Step::kCall: case Step::kLoad: return CallName(module_, graph_.calls[step.call]);
      case Step::kInput: return "input " + graph_.inputs[step.port].name;
      case Step::kOutput: return "output " + graph_.outputs[step.port].name;
      case Step::kCollective: break;
      case Step::kCopy:
        return "copy " + ValueName(step.inputs[0]) + " to " +
               DeviceName(module_.devices[BufferOf(step.outputs[0]).device]);
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

  const schedule::Buffer& BufferOf(schedule::ValueLocationId id) const {
    return schedule_.buffers[schedule_.locations[id].buffer];
  }

  void PrintUnit(UnitId id) const {
    const ScheduleUnit& unit = schedule_.units[id];
    const Step& step = schedule_.steps[unit.first];
    out_ << fmt::format("    {}: {}", unit.index,
                        step.kind == Step::kCollective ? CollectiveText(id, step)
                                                       : StepText(unit, step));
    if (step.lag > 0) out_ << fmt::format("  for {} before", step.lag);
    const char* separator = "  after ";
    for (const schedule::Wait& wait : unit.waits) {
      out_ << separator << UnitName(wait.unit);
      if (wait.lag > 0) out_ << fmt::format(" of {} before", wait.lag);
      separator = ", ";
    }
    out_ << "\n";
  }

  const graph::Module& module_;
  const graph::Graph& graph_;
  const Schedule& schedule_;
  const Sources* sources_;
  llvm::raw_ostream& out_;
};

const graph::Graph& GraphOf(const graph::Module& module, size_t schedule) {
  return schedule == 0 ? module.start : module.graphs[schedule - 1];
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
    const auto name = [&](graph::ValueId id) {
      return graph::ValueName(graph, graph.values[id], sources);
    };
    out << "transports " << graph.name << "\n";
    for (const schedule::Edge& edge : schedules[i].edges) {
      const std::string relay =
          edge.relay.valid() ? " through " + DeviceName(module.devices[edge.relay]) : "";
      out << fmt::format("  {}: {} -> {} by {}{} ({})\n", name(edge.value),
                         DeviceName(module.devices[edge.from]), DeviceName(module.devices[edge.to]),
                         JourneyText(edge.chosen), relay, edge.why);
    }
    for (const schedule::CollectiveChoice& choice : schedules[i].collective_choices) {
      const graph::Op& op = graph.ops[choice.op];
      out << "  " << op.name;
      for (const graph::Use& use : op.operands) out << " " << name(use.value);
      out << " of";
      for (graph::DeviceId id : op.collective->participants) {
        out << " " << DeviceName(module.devices[id]);
      }
      out << " by " << TransportName(choice.chosen) << " (" << choice.why << ")\n";
    }
  }
}

}  // namespace cgraph
