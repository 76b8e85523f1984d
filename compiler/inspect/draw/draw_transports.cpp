// The drawing of transports: devices with the places on them, and between them the values that
// travel, by which transport, how many bytes in an execution, and why that way. Values of one name
// and type are one line; of very many devices those with the same places are one box.
#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "compiler/base/transport.h"
#include "compiler/inspect/draw/drawings.h"
#include "compiler/inspect/draw/facts/facts.h"
#include "compiler/inspect/draw/facts/operations.h"
#include "compiler/inspect/draw/formats/svg.h"
#include "compiler/inspect/draw/formats/text.h"
#include "compiler/inspect/draw/palette.h"
#include "runtime/base/text.h"
#include "runtime/plan/graph_index.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/print.h"

namespace cgraph {
namespace {

// Between two devices, by what, and whether outputs are copies of it.
struct Way {
  uint32_t from = 0, to = 0;  // devices
  TransportKind transport{};
  bool is_copied = false;
  friend auto operator<=>(const Way&, const Way&) = default;
};

// What travels one way.
struct Traffic {
  std::map<std::string, std::map<std::string, uint32_t>> values;  // by type, by name: how many
  uint32_t messages = 0;
  uint64_t bytes = 0;
  std::vector<std::string> outputs;  // that it is copied to where it arrives
};

class TransportsDrawer {
  static constexpr size_t kMaxDevices = 24, kMaxLines = 6;
  static constexpr double kDeviceFont = 12, kLabelFont = 10;

 public:
  TransportsDrawer(const plan::Plan& plan, const plan::Graph& graph)
      : plan_(plan), graph_(graph), index_(plan, graph),
        operations_(FindOperations(plan, graph, ColorBy::kMethod)) {
    index_.IndexMessages();
  }

  std::string Draw() {
    CollectTransfers();
    CollectCopies();
    CollectShared();
    CollectCollectives();
    dot_ = fmt::format(
        "digraph \"{0}\" {{\n"
        "  rankdir=LR; newrank=true; nodesep=0.3; ranksep=0.5;\n"
        "  label={2}; labelloc=t; fontname=\"Helvetica\";\n"
        "  node [fontname=\"Helvetica\", fontsize=12, shape=box, style=\"rounded,filled\", "
        "margin=\"0.16,0.08\"];\n"
        "  edge [fontname=\"Helvetica\", fontsize=10, color=\"{1}\"];\n",
        DotText(graph_.name), kMeetingColor,
        DotHeading(
            fmt::format("transports of {}: what travels in one execution", graph_.name),
            Legend()));
    AddDevices();
    AddTraffic();
    AddCollectives();
    return dot_ + "}\n";
  }

 private:
  // Says what is drawn how; nothing of what is not there.
  std::vector<std::string> Legend() const {
    bool has_gpus = false;
    for (const auto& [from, to] : used_) has_gpus |= IsGpu(from) || IsGpu(to);
    std::vector<std::string> lines = {
        has_gpus ? "box: a device with its actors; blue: a gpu" : "box: a device with its actors"};
    if (!traffic_.empty()) {
      lines.push_back("line: by what, how many bytes, which values, and why that way");
    }
    if (!collectives_.empty()) lines.push_back("yellow: a collective of the devices that it joins");
    return lines;
  }

  bool IsGpu(uint32_t device) const {
    return plan_.devices[device]->kind == plan::DeviceKind::gpu;
  }
  uint32_t NodeOf(uint32_t device) const { return plan_.devices[device]->node; }
  LogicalDevice KeyOf(uint32_t device) const {
    return {IsGpu(device) ? DeviceKind::kGpu : DeviceKind::kCpu, NodeOf(device), 0};
  }

  void Carry(const Way& way, uint32_t value) {
    used_.insert({way.from, way.to});
    Traffic& traffic = traffic_[way];
    ++traffic.values[plan::TypeText(plan_, graph_, value)][ValueName(plan_, graph_, value)];
    traffic.bytes += graph_.values[value].bytes();
  }

  void CollectTransfers() {
    for (uint32_t id = 0; id < graph_.channels.size(); ++id) {
      const plan::Channel& channel = graph_.channels[id];
      const uint32_t from = plan_.lanes[channel.from_lane()].device();
      const uint32_t to = plan_.lanes[channel.to_lane()].device();
      const TransportKind transport = plan::KindOf(channel.transport());
      for (const plan::Message& receive : index_.receives(id)) {
        const plan::CommPart& part = graph_.parts[receive.part];
        for (uint32_t i = 0; i < part.outputs(); ++i) {
          Carry({from, to, transport}, graph_.operands[part.first() + part.inputs() + i]);
        }
        ++traffic_[{from, to, transport}].messages;
      }
    }
  }

  // Collects copies between memories that a copy reaches.
  void CollectCopies() {
    for (const Operation& operation : operations_.all) {
      if (operation.kind != plan::Kind::copy || operation.output != plan::kNone) continue;
      const plan::Instruction& copy = graph_.instructions[operation.instructions.front()];
      const uint32_t from = DeviceOfValue(graph_.operands[copy.first()]);
      const uint32_t value = graph_.operands[copy.first() + 1];
      const uint32_t to = DeviceOfValue(value);
      if (from == to) continue;
      Carry({from, to, TransportKind::kHost}, value);
      ++traffic_[{from, to, TransportKind::kHost}].messages;
    }
  }

  uint32_t DeviceOfValue(uint32_t value) const {
    return graph_.arenas[graph_.buffers[graph_.values[value].buffer()].arena()].device();
  }

  struct Shared {
    uint32_t from, to;  // devices
    uint32_t value;
    friend auto operator<=>(const Shared&, const Shared&) = default;
  };

  // Values that another device reads where they are, or that outputs are copies of.
  void CollectShared() {
    std::map<Shared, std::vector<std::string>> copied_to;
    for (const Flow& flow : FindFlows(plan_, graph_, operations_)) {
      if (flow.transports != std::vector<std::string>{NameOf(TransportKind::kLocal)}) continue;
      const Operation& to = operations_.all[flow.to];
      std::vector<std::string>& outputs =
          copied_to[{DeviceOfLane(operations_.all[flow.from].lane), DeviceOfLane(to.lane),
                     flow.value}];
      if (!flow.is_copied || to.kind != plan::Kind::output) continue;
      outputs.push_back(
          graph_.outputs[graph_.instructions[to.instructions.front()].subject()]->name);
    }
    for (const auto& [shared, outputs] : copied_to) {
      const Way way{shared.from, shared.to, TransportKind::kLocal, !outputs.empty()};
      Carry(way, shared.value);
      Traffic& traffic = traffic_[way];
      ++traffic.messages;
      traffic.outputs.insert(traffic.outputs.end(), outputs.begin(), outputs.end());
    }
  }

  uint32_t DeviceOfLane(uint32_t lane) const { return plan_.lanes[lane].device(); }

  struct Group {
    std::string what;  // "all_reduce sum by nccl"
    std::vector<uint32_t> devices;
    friend auto operator<=>(const Group&, const Group&) = default;
  };

  void CollectCollectives() {
    for (const plan::CollectivePart& at : index_.collective_parts()) {
      const plan::CommPart& part = graph_.parts[at.part];
      if (at.member == 0) {
        const plan::Collective& collective = *graph_.collectives[part.subject()];
        const plan::Communicator& members = plan_.communicators[at.communicator];
        Group group{fmt::format("{}\nby {}", plan::CollectiveText(collective),
                                wire::EnumNameTransportKind(collective.transport)),
                    {}};
        for (uint32_t m = 0; m < members.members(); ++m) {
          group.devices.push_back(plan_.lanes[plan_.members[members.first_member() + m]].device());
        }
        current_ = &collectives_[group];
        ++current_->messages;
      }
      for (uint32_t i = 0; i < part.inputs(); ++i) {
        const uint32_t value = graph_.operands[part.first() + i];
        ++current_->values[plan::TypeText(plan_, graph_, value)][ValueName(plan_, graph_, value)];
        current_->bytes += graph_.values[value].bytes();
      }
    }
    for (const auto& [group, traffic] : collectives_) {
      for (uint32_t device : group.devices) used_.insert({device, device});
    }
  }

  // Adds one box for each device that takes part, or, of very many, for all of a machine with the
  // same classes. Each machine is a frame around its boxes where there are several.
  void AddDevices() {
    std::map<uint32_t, std::vector<std::string>> places, classes;
    for (const auto& actor : plan_.actors) {
      places[actor->device].push_back(actor->name + ": " + actor->class_name);
      classes[actor->device].push_back(actor->class_name);
    }
    std::set<uint32_t> devices;
    for (const auto& [from, to] : used_) devices.insert({from, to});
    const bool many = devices.size() > kMaxDevices;
    std::map<std::vector<std::string>, std::vector<uint32_t>> boxes;
    for (uint32_t device : devices) {
      std::vector<std::string> key = classes[device];
      key.push_back(wire::EnumNameDeviceKind(plan_.devices[device]->kind));
      key.push_back(std::to_string(NodeOf(device)));
      if (!many) key = {fmt::format("{:08}", device)};
      boxes[key].push_back(device);
    }
    std::map<uint32_t, std::string> frames;  // the boxes of each machine
    for (const auto& [key, members] : boxes) {
      std::string& frame = frames[NodeOf(members[0])];
      std::string label = plan::DeviceName(plan_, members[0]);
      if (members.size() > 1) label += fmt::format(" and {} more like it", members.size() - 1);
      const std::string on_it = Lines(places[members[0]]);
      if (!on_it.empty()) label += "\n" + on_it;
      for (uint32_t device : members) box_of_[device] = members[0];
      frame += fmt::format(
          "  device{} [label=\"{}\", {}, fillcolor=\"{}\", tooltip=\"{}\"];\n", members[0],
          DotText(Shortened(label)), Room(label, kDeviceFont),
          IsGpu(members[0]) ? "#99ddff" : kHostColor, DotText(label));
      if (plan_.devices[members[0]]->kind == plan::DeviceKind::caller) {  // stands on the left
        frame += fmt::format("  {{ rank=source; device{}; }}\n", members[0]);
      }
    }
    for (const auto& [node, frame] : frames) {
      dot_ += frames.size() == 1
                  ? frame
                  : fmt::format("  subgraph cluster_node{0} {{\n  label=\"node[{0}]\"; "
                                "color=\"#999999\"; fontname=\"Helvetica\";\n{1}  }}\n",
                                node, frame);
    }
  }

  static std::string Lines(const std::vector<std::string>& lines) {
    std::string text;
    for (size_t i = 0; i < std::min(lines.size(), kMaxLines); ++i) {
      text += (i == 0 ? "" : "\n") + lines[i];
    }
    return lines.size() > kMaxLines ? text + fmt::format("\nand {} more", lines.size() - kMaxLines)
                                     : text;
  }

  static std::string TextOf(const Traffic& traffic) {
    std::vector<std::string> lines;
    for (const auto& [type, names] : traffic.values) {
      constexpr size_t kMaxNames = 3;
      uint32_t all = 0;
      for (const auto& [name, count] : names) {
        all += count;
        if (names.size() > kMaxNames) continue;
        lines.push_back(name + ": " + type + (count > 1 ? fmt::format(" \u00d7{}", count) : ""));
      }
      if (names.size() > kMaxNames) lines.push_back(fmt::format("{} values: {}", all, type));
    }
    return Lines(lines);
  }

  // Adds edges. Each label is a node of its own on the way: labels of edges would be laid over each
  // other.
  void AddTraffic() {
    std::map<std::tuple<uint32_t, uint32_t, TransportKind, std::string>, Traffic> all;
    for (const auto& [way, traffic] : traffic_) {
      const auto [from, to, transport, is_copied] = way;
      const bool is_automatic = transport == AutomaticTransport(KeyOf(from), KeyOf(to)) ||
                                transport == TransportKind::kLocal;
      const std::string why = WhyWithCopies(
          transport, is_automatic ? WhyAutomatic(transport) : "asked for", traffic.outputs);
      Traffic& sum = all[{box_of_[from], box_of_[to], transport, why}];
      sum.messages += traffic.messages;
      sum.bytes += traffic.bytes;
      for (const auto& [type, names] : traffic.values) {
        for (const auto& [name, count] : names) sum.values[type][name] += count;
      }
    }
    for (const auto& [way, traffic] : all) {
      const auto& [from, to, transport, why] = way;
      const char* unit = SendsMessages(transport)                        ? "message"
                         : DeliveryOf(transport) == Delivery::kCopied ? "copy"
                                                                      : "value";
      const std::string label =
          fmt::format("by {}: {} in {}\n{}\n{}", TransportName(transport).str(),
                      BytesText(traffic.bytes), Counted(traffic.messages, unit),
                      TextOf(traffic), why);
      AddLabel(label, "shape=plaintext, style=\"\", margin=\"0.06,0.03\"");
      dot_ += fmt::format("  device{1} -> label{0} [arrowhead=none];\n  label{0} -> device{2};\n",
                          labels_, from, to);
    }
  }

  static std::string Counted(uint32_t count, std::string unit) {
    if (count != 1) unit = unit == "copy" ? "copies" : unit + "s";
    return fmt::format("{} {}", count, unit);
  }

  // Widens a label: boxes are laid out by one font and may be shown in another, wider one, and text
  // must not run into round corners.
  static std::string Room(const std::string& label, double font) {
    constexpr double kInch = 72, kCorner = 12;
    return fmt::format("width=\"{:.2f}\"",
                       (BlockWidth(Shortened(label)) * font / kFont + 2 * kCorner) / kInch);
  }

  void AddLabel(const std::string& label, const std::string& style) {
    dot_ += fmt::format("  label{} [label=\"{}\", tooltip=\"{}\", {}, fontsize={}, height=0];\n",
                        ++labels_, DotText(Shortened(label)), DotText(label), style, kLabelFont);
  }

  void AddCollectives() {
    for (const auto& [group, traffic] : collectives_) {
      const std::string label =
          fmt::format("{}: {} in {}\n{}", group.what, BytesText(traffic.bytes),
                      Counted(traffic.messages, "turn"), TextOf(traffic));
      AddLabel(label, fmt::format("fillcolor=\"{}\", {}", kTransferColor, Room(label, kLabelFont)));
      std::set<uint32_t> boxes;
      for (uint32_t device : group.devices) boxes.insert(box_of_[device]);
      for (uint32_t box : boxes) {
        dot_ += fmt::format("  device{} -> label{} [dir=none];\n", box, labels_);
      }
    }
  }

  const plan::Plan& plan_;
  const plan::Graph& graph_;
  plan::GraphIndex index_;
  const Operations operations_;
  std::map<Way, Traffic> traffic_;
  std::map<Group, Traffic> collectives_;
  Traffic* current_ = nullptr;  // of the collective whose parts are being counted
  std::set<std::pair<uint32_t, uint32_t>> used_;
  std::map<uint32_t, uint32_t> box_of_;  // by device: the first of its box
  uint32_t labels_ = 0;
  std::string dot_;
};

}  // namespace

std::string TransportsDot(const plan::Plan& plan, const plan::Graph& graph) {
  return TransportsDrawer(plan, graph).Draw();
}

}  // namespace cgraph
