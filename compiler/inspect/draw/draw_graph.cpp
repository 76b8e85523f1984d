// The graph: what depends on what, whoever does it when.
#include <fmt/format.h>

#include <map>
#include <set>
#include <vector>

#include "compiler/inspect/draw/drawings.h"
#include "compiler/inspect/draw/flows.h"
#include "compiler/inspect/draw/operations.h"
#include "compiler/inspect/draw/palette.h"
#include "compiler/inspect/draw/text.h"
#include "compiler/inspect/meetings.h"
#include "runtime/plan/print.h"

namespace cgraph {
namespace {

class GraphDrawer {
 public:
  GraphDrawer(const plan::Plan& plan, const plan::Graph& graph)
      : plan_(plan), graph_(graph), operations_(FindOperations(graph)) {
    for (uint32_t id = 0; id < operations_.all.size(); ++id) {
      node_of_.push_back(id);
    }
    box_of_.assign(operations_.all.size(), 0);
    for (const std::vector<PartRef>& parts : FindMeetings(plan, graph).collectives) {
      for (const PartRef& part : parts) {
        node_of_[operations_.of[part.instruction]] = operations_.of[parts.front().instruction];
        collectives_.insert(operations_.of[part.instruction]);
      }
    }
  }

  std::string Draw() {
    dot_ = fmt::format(
        "digraph \"{}\" {{\n"
        "  rankdir=LR; newrank=true; nodesep=0.3; ranksep=0.6;\n"
        "  label=\"graph {}\"; labelloc=t; fontname=\"Helvetica\"; fontsize=16;\n"
        "  node [fontname=\"Helvetica\", fontsize=12, shape=box, style=\"rounded,filled\"];\n"
        "  edge [fontname=\"Helvetica\", fontsize=10, color=\"#555555\"];\n",
        DotText(graph_.name), DotText(graph_.name));
    AddNodes();
    AddEdges();
    return dot_ + "}\n";
  }

 private:
  static bool IsNode(const Operation& operation) {
    return operation.kind != plan::Kind::comm && operation.kind != plan::Kind::copy;
  }

  // An actor's calls in a box of their own, which says where it is; so are a device's ops outside
  // methods.
  void AddNodes() {
    std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>> boxes;  // by actor, then device
    for (uint32_t id = 0; id < operations_.all.size(); ++id) {
      const Operation& operation = operations_.all[id];
      const bool call = operation.kind == plan::Kind::call && operation.call != plan::kNone;
      const uint32_t actor = call ? graph_.calls[operation.call].place() : plan::kNone;
      if (collectives_.count(id) > 0 ? node_of_[id] == id : IsNode(operation)) {
        const bool boxed = operation.kind == plan::Kind::call && actor == plan::kNone;
        boxes[{actor, boxed ? plan_.lanes[operation.lane].device() : plan::kNone}].push_back(id);
      }
    }
    for (const auto& [whose, ids] : boxes) {
      AddBox(whose.first, whose.second, ids);
    }
  }

  void AddBox(uint32_t actor, uint32_t device, const std::vector<uint32_t>& ids) {
    if (actor == plan::kNone && device == plan::kNone) {
      for (uint32_t id : ids) AddNode(id, "  ");
      return;
    }
    std::string title = fmt::format("ops on {}", plan::DeviceName(plan_, device));
    if (actor != plan::kNone) {
      const plan::Actor& row = *plan_.actors[actor];
      title = fmt::format("{}: {} on {}", row.name, row.class_name,
                          plan::DeviceName(plan_, row.device));
    }
    dot_ += fmt::format(
        "  subgraph cluster{} {{\n"
        "    label=\"{}\"; style=\"rounded,filled\"; color=\"#bbbbbb\"; fillcolor=\"#f6f6f6\"; "
        "fontsize=12; margin=14;\n",
        ++boxes_, DotText(title));
    for (uint32_t id : ids) {
      box_of_[id] = boxes_;
      AddNode(id, "    ");
    }
    dot_ += "  }\n";
  }

  void AddNode(uint32_t id, const char* indent) {
    const Operation& operation = operations_.all[id];
    const bool port = operation.kind == plan::Kind::take || operation.kind == plan::Kind::give;
    const plan::Instruction& first = graph_.instructions[operation.instructions.front()];
    std::string label = ShortLabel(operation);
    if (collectives_.count(id) > 0) {
      label = ShortNames(plan_, graph_, operation).back();  // of what is on the edges
    }
    if (operation.kind == plan::Kind::take) {
      label = "input " + graph_.inputs[first.subject()]->name;
    } else if (operation.kind == plan::Kind::give) {
      label = "output " + graph_.outputs[first.subject()]->name;
    }
    dot_ += fmt::format("{}op{} [label=\"{}\", fillcolor=\"{}\"{}];\n", indent, id, DotText(label),
                        palette_.ColorOf(OperationFamily(plan_, graph_, operation)),
                        port ? ", shape=ellipse, style=filled" : "");
  }

  // In its actor's box a call needs no actor's name.
  std::string ShortLabel(const Operation& operation) const {
    const std::vector<std::string> names = ShortNames(plan_, graph_, operation);
    const bool placed = operation.kind == plan::Kind::call && operation.call != plan::kNone &&
                        graph_.calls[operation.call].place() != plan::kNone;
    return placed ? names[1] : names[0];
  }

  // One edge for all values that go from one operation to another. Between boxes its label is a node
  // of its own on the way: labels of edges that cross there would be laid over each other.
  void AddEdges() {
    std::map<std::pair<uint32_t, uint32_t>, std::string> labels;
    for (const Flow& flow : FindFlows(plan_, graph_, operations_)) {
      std::string& label = labels[{node_of_[flow.from], node_of_[flow.to]}];
      label += (label.empty() ? "" : "\n") + FlowLabel(flow);
    }
    uint32_t number = 0;
    for (const auto& [ends, label] : labels) {
      const auto [from, to] = ends;
      if (box_of_[from] == box_of_[to] && box_of_[from] != 0) {
        dot_ += fmt::format("  op{} -> op{} [label=\"{}\"];\n", from, to, DotText(label));
        continue;
      }
      dot_ += fmt::format(
          "  flow{0} [label=\"{1}\", shape=plaintext, style=\"\", fontsize=10, height=0, "
          "margin=\"0.04,0.02\"];\n"
          "  op{2} -> flow{0} [arrowhead=none];\n"
          "  flow{0} -> op{3};\n",
          number++, DotText(label), from, to);
    }
  }

  std::string FlowLabel(const Flow& flow) const {
    std::string label = fmt::format("{}: {}", ValueName(plan_, graph_, flow.value),
                                    plan::TypeText(plan_, graph_, flow.value));
    for (size_t i = 0; i < flow.transports.size(); ++i) {
      label += (i == 0 ? "\nvia " : ", ") + flow.transports[i];
    }
    return label;
  }

  const plan::Plan& plan_;
  const plan::Graph& graph_;
  const Operations operations_;
  std::vector<uint32_t> node_of_;   // by operation: itself, or the first part of its collective
  std::set<uint32_t> collectives_;  // operations that are parts of one
  Palette palette_;
  uint32_t boxes_ = 0;
  std::vector<uint32_t> box_of_;  // by operation; 0: none
  std::string dot_;
};

}  // namespace

std::string GraphDot(const plan::Plan& plan, const plan::Graph& graph) {
  return GraphDrawer(plan, graph).Draw();
}

}  // namespace cgraph
