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
        "  rankdir=LR; compound=true; nodesep=0.3; ranksep=0.9;\n"
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

  // An actor's calls in a box of their own, which says where it is.
  void AddNodes() {
    std::map<uint32_t, std::vector<uint32_t>> by_actor;
    for (uint32_t id = 0; id < operations_.all.size(); ++id) {
      const Operation& operation = operations_.all[id];
      const uint32_t call = operation.kind == plan::Kind::call ? operation.call : plan::kNone;
      if (IsNode(operation) || (collectives_.count(id) > 0 && node_of_[id] == id)) {
        by_actor[call == plan::kNone ? plan::kNone : graph_.calls[call].place()].push_back(id);
      }
    }
    for (const auto& [actor, ids] : by_actor) {
      if (actor == plan::kNone) {
        for (uint32_t id : ids) AddNode(id, "  ");
        continue;
      }
      const plan::Actor& row = *plan_.actors[actor];
      dot_ += fmt::format(
          "  subgraph cluster_actor{} {{\n"
          "    label=\"{}\"; style=\"rounded,filled\"; color=\"#bbbbbb\"; fillcolor=\"#f6f6f6\"; "
          "fontsize=12; margin=14;\n",
          actor, DotText(fmt::format("{}: {} on {}", row.name, row.class_name,
                                     plan::DeviceName(plan_, row.device))));
      for (uint32_t id : ids) AddNode(id, "    ");
      dot_ += "  }\n";
    }
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

  // One edge for all values that go from one operation to another.
  void AddEdges() {
    std::map<std::pair<uint32_t, uint32_t>, std::string> labels;
    for (const Flow& flow : FindFlows(plan_, graph_, operations_)) {
      std::string& label = labels[{node_of_[flow.from], node_of_[flow.to]}];
      label += (label.empty() ? "" : "\n") + FlowLabel(flow);
    }
    for (const auto& [ends, label] : labels) {
      dot_ += fmt::format("  op{} -> op{} [label=\"{}\"];\n", ends.first, ends.second,
                          DotText(label));
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
  std::string dot_;
};

}  // namespace

std::string GraphDot(const plan::Plan& plan, const plan::Graph& graph) {
  return GraphDrawer(plan, graph).Draw();
}

}  // namespace cgraph
