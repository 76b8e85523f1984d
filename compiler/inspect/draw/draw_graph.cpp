// The drawing of the graph: which op depends on which, whatever their order in time. A value is a
// line. A dashed line is order that only an actor's state asks for, a dotted one that of a barrier;
// only as many are drawn as imply the others. In a graph with more calls than a reader can follow,
// the calls of one method of one actor are one node with their number; if that is not few enough,
// actors of one class are one box as well. Collectives of different groups or lines stay apart as
// long as may be: one node of theirs would seem to wait for itself, where one sums what is computed
// from another's result.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "compiler/inspect/draw/drawings.h"
#include "compiler/inspect/draw/facts/facts.h"
#include "compiler/inspect/draw/facts/operations.h"
#include "compiler/inspect/draw/facts/tooltip_writer.h"
#include "compiler/inspect/draw/formats/text.h"
#include "compiler/inspect/draw/order/order.h"
#include "compiler/inspect/draw/palette.h"
#include "compiler/inspect/graph_messages.h"
#include "runtime/plan/print.h"

namespace cgraph {
namespace {

constexpr size_t kMaxNodes = 40, kMaxLines = 4;

enum class Detail { kCalls, kMethods, kClasses, kLines };
constexpr Detail kDetails[] = {Detail::kCalls, Detail::kMethods, Detail::kClasses, Detail::kLines};

// Says what is drawn as one.
const char* MergedText(Detail detail) {
  switch (detail) {
    case Detail::kCalls: return "";
    case Detail::kMethods: return ": calls of one method as one";
    case Detail::kClasses: return ": actors of one class as one";
    case Detail::kLines: return ": actors of one class as one, collectives of one line as one";
  }
  return "";
}

// Node: operations drawn as one.
struct Node {
  std::string box, label;  // no box: ""
  std::vector<uint32_t> operations;
};

// Collective: what tells one node of collectives from another.
struct Collective {
  std::string group;             // "gpu[0], gpu[1]"
  uint32_t site = plan::kNone;   // the line that asks for it
  std::set<std::string> makers;  // families of what makes its inputs: a fn's line has many uses
  auto operator<=>(const Collective&) const = default;
};

class GraphDrawer {
 public:
  GraphDrawer(const plan::Plan& plan, const plan::Graph& graph, const DrawOptions& options)
      : plan_(plan), graph_(graph), operations_(FindOperations(plan, graph, options.color_by)),
        tooltips_(plan, graph, options.source),
        by_micro_batch_(options.color_by == ColorBy::kMicroBatch),
        values_(FindFlows(plan, graph, operations_)),
        palette_(FamiliesOf(plan, graph, operations_), by_micro_batch_) {
    FindCollectives();
  }

  std::string Draw() {
    for (Detail detail : kDetails) {
      detail_ = detail;
      CollectNodes();
      if (nodes_.size() <= kMaxNodes) break;
    }
    CollectFlows();
    CollectOrders();
    dot_ = fmt::format(
        "digraph \"{0}\" {{\n"
        "  rankdir=LR; newrank=true; nodesep=0.3; ranksep=0.5;\n"
        "  label={1}; labelloc=t; fontname=\"Helvetica\";\n"
        "  node [fontname=\"Helvetica\", fontsize=12, shape=box, style=\"rounded,filled\"];\n"
        "  edge [fontname=\"Helvetica\", fontsize=10, color=\"#555555\"];\n",
        DotText(graph_.name),
        DotHeading(fmt::format("{}graph {}{}", graph_.repeat ? "one round of " : "", graph_.name,
                               MergedText(detail_)), Legend()));
    AddNodes();
    AddFlows();
    AddOrders();
    return dot_ + "}\n";
  }

 private:
  void FindCollectives() {
    for (uint32_t id = 0; id < operations_.all.size(); ++id) {
      meeting_of_.push_back(id);
    }
    std::set<std::string> groups;
    const plan::GraphIndex index = IndexMessages(plan_, graph_);
    for (const CollectiveParts parts : CollectivesOf(index)) {
      const uint32_t first = meeting_of_[operations_.of[parts.front().instruction]];
      const uint32_t call = graph_.instructions[parts.front().instruction].call();
      Collective& collective = collectives_[first];
      collective.site = call == plan::kNone ? plan::kNone : graph_.calls[call].site();
      for (const plan::CollectivePart& part : parts) {
        Join(operations_.of[part.instruction], first);
        collective.group += (collective.group.empty() ? "" : ", ") +
                            plan::DeviceName(plan_, index.device(part.instruction));
      }
      groups.insert(collective.group);
    }
    has_groups_ = groups.size() > 1;
    for (const Flow& flow : values_) {
      const auto to = collectives_.find(meeting_of_[flow.to]);
      if (to == collectives_.end()) continue;
      to->second.makers.insert(OperationFamily(plan_, graph_, operations_.all[flow.from]));
    }
  }

  // Makes an operation a part of a collective; of a plan that has it in two, all of both.
  void Join(uint32_t id, uint32_t first) {
    const uint32_t before = meeting_of_[id];
    if (before != first && collectives_.erase(before) > 0) {
      std::replace(meeting_of_.begin(), meeting_of_.end(), before, first);
    }
    meeting_of_[id] = first;
  }

  // Returns the collective that an operation is a part of; null for none.
  const Collective* CollectiveOf(uint32_t id) const {
    const auto found = collectives_.find(meeting_of_[id]);
    return found == collectives_.end() ? nullptr : &found->second;
  }

  // Says what is drawn how; nothing of what is not there.
  std::vector<std::string> Legend() const {
    bool has_calls = false, has_ports = false, has_objects = false;
    bool has_states = false, has_barriers = false;
    for (const Operation& operation : operations_.all) {
      has_calls |= operation.kind == plan::Kind::call;
      has_ports |= operation.kind == plan::Kind::input || operation.kind == plan::Kind::output;
    }
    for (const auto& [ends, order] : orders_) {
      has_objects |= order.states().contains(kObjectName);
      (order.barrier() ? has_barriers : has_states) = true;
    }
    std::vector<std::string> lines;
    if (has_calls) {
      lines.push_back(fmt::format("frame: an actor and its calls, in the colour of their {}",
                                  by_micro_batch_ ? "micro-batch" : "method"));
    }
    if (has_ports) lines.push_back("ellipse: an input or output of the graph");
    if (!collectives_.empty()) lines.push_back("yellow: a collective");
    if (!flows_.empty()) lines.push_back("line: a value, with its type and how it travels");
    if (has_states) {
      lines.push_back(std::string("dashed: order through the named state of an actor") +
                      (has_objects ? ", or its object of native code or Python" : ""));
    }
    if (has_barriers) lines.push_back("dotted: order through a barrier");
    return lines;
  }

  bool IsNode(uint32_t id) const {
    if (CollectiveOf(id) != nullptr) return meeting_of_[id] == id;
    const plan::Kind kind = operations_.all[id].kind;
    return kind != plan::Kind::comm && kind != plan::Kind::copy;
  }

  void CollectNodes() {
    nodes_.clear();
    node_of_.assign(operations_.all.size(), plan::kNone);
    std::map<Key, uint32_t> known;
    for (uint32_t id = 0; id < operations_.all.size(); ++id) {
      if (!IsNode(id)) continue;
      Node node{BoxOf(id), LabelOf(id), {}};
      const auto [it, fresh] = known.try_emplace(KeyOf(id, node), 0);
      if (fresh || detail_ == Detail::kCalls) {
        it->second = static_cast<uint32_t>(nodes_.size());
        nodes_.push_back(std::move(node));
      }
      nodes_[it->second].operations.push_back(id);
      node_of_[id] = it->second;
    }
    for (uint32_t id = 0; id < node_of_.size(); ++id) {
      if (meeting_of_[id] != id) node_of_[id] = node_of_[meeting_of_[id]];
    }
  }

  // What operations have in common that are one node where not each of them is one.
  using Key = std::tuple<std::string, std::string, Collective>;
  Key KeyOf(uint32_t id, const Node& node) const {
    const Collective* found = CollectiveOf(id);
    Collective collective = found == nullptr ? Collective() : *found;
    if (detail_ == Detail::kLines) collective.group.clear();
    return {node.box, node.label, std::move(collective)};
  }

  uint32_t ActorOf(const Operation& operation) const {
    return operation.kind == plan::Kind::call && operation.call != plan::kNone
               ? graph_.calls[operation.call].place()
               : plan::kNone;
  }

  // Returns the box of a call: an actor's calls have one, which says where the actor is; so have a
  // device's ops outside methods.
  std::string BoxOf(uint32_t id) const {
    const Operation& operation = operations_.all[id];
    if (operation.kind != plan::Kind::call) return "";
    const uint32_t actor = ActorOf(operation);
    const std::string device = plan::DeviceName(plan_, plan_.lanes[operation.lane].device());
    const bool by_class = detail_ >= Detail::kClasses;
    if (actor == plan::kNone) return by_class ? "ops" : "ops on " + device;
    const plan::Actor& row = *plan_.actors[actor];
    return by_class
               ? "all " + row.class_name
               : fmt::format("{}: {} on {}", row.name, row.class_name, device);
  }

  // Returns the label. In its actor's box a call needs no actor's name; in a node of many it has no
  // indices.
  std::string LabelOf(uint32_t id) const {
    const Operation& operation = operations_.all[id];
    const plan::Instruction& first = graph_.instructions[operation.instructions.front()];
    if (operation.kind == plan::Kind::input) return "input " + graph_.inputs[first.subject()]->name;
    if (operation.kind == plan::Kind::output) {
      const std::string& name = graph_.outputs[first.subject()]->name;
      return "output " + (detail_ == Detail::kCalls ? name : name.substr(0, name.find('[')));
    }
    const std::vector<std::string> names = ShortNames(plan_, graph_, operation);
    if (const Collective* collective = CollectiveOf(id)) {  // of what is on the edges
      const bool says_group = has_groups_ && detail_ != Detail::kLines;
      return OperationVerb(plan_, graph_, operation) +
             (says_group ? "\n" + collective->group : "");
    }
    if (detail_ == Detail::kCalls) return ActorOf(operation) == plan::kNone ? names[0] : names[1];
    return operation.kind == plan::Kind::call ? OperationFamily(plan_, graph_, operation)
                                              : OperationVerb(plan_, graph_, operation);
  }

  void AddNodes() {
    std::map<std::string, std::vector<uint32_t>> boxes;  // by title
    for (uint32_t id = 0; id < nodes_.size(); ++id) {
      boxes[nodes_[id].box].push_back(id);
    }
    for (const auto& [title, ids] : boxes) {
      if (!title.empty()) {
        dot_ += fmt::format(
            "  subgraph cluster{} {{\n"
            "    label=\"{}\"; style=\"rounded,filled\"; color=\"#bbbbbb\"; fillcolor=\"#f6f6f6\"; "
            "fontsize=12; margin=14;\n",
            cluster_of_.emplace(title, cluster_of_.size() + 1).first->second,
            DotText(Shortened(title)));
      }
      for (uint32_t id : ids) {
        AddNode(id);
      }
      if (!title.empty()) dot_ += "  }\n";
    }
  }

  void AddNode(uint32_t id) {
    const Node& node = nodes_[id];
    const Operation& operation = operations_.all[node.operations.front()];
    const bool port = operation.kind == plan::Kind::input || operation.kind == plan::Kind::output;
    std::string label = node.label, told = tooltips_.Tell(operation);
    if (const Collective* collective = CollectiveOf(node.operations.front())) {
      told += "\namong " + collective->group;
    }
    if (node.operations.size() > 1) {
      label.insert(std::min(label.find('\n'), label.size()),
                   fmt::format(" \u00d7{}", node.operations.size()));
      told += fmt::format("\nand {} more", node.operations.size() - 1);
    }
    dot_ += fmt::format("    node{} [label=\"{}\", tooltip=\"{}\", fillcolor=\"{}\"{}];\n", id,
                        DotText(Shortened(label)), DotText(told),
                        palette_.ColorOf(OperationFamily(plan_, graph_, operation),
                                         operation.shade),
                        port ? ", shape=ellipse, style=filled" : "");
  }

  using Ends = std::pair<uint32_t, uint32_t>;  // nodes

  // Bundle: the values of one type that go the same way; of few names, each by its name.
  struct Bundle {
    std::set<std::string> names;
    std::set<uint32_t> values;
  };
  struct Order {
    std::set<std::string> read, overwritten;  // states
    bool reads() const { return !read.empty(); }  // what was written; else it only overwrites
    const std::set<std::string>& states() const { return reads() ? read : overwritten; }
    bool barrier() const { return states().empty(); }  // its order, and no state's
  };

  // Makes one edge for all values that go from one node to another.
  void CollectFlows() {
    for (const Flow& flow : values_) {
      std::string type = plan::TypeText(plan_, graph_, flow.value);
      if (const std::string way = WayText(flow); !way.empty()) type += "\n" + way;
      Bundle& bundle = flows_[{node_of_[flow.from], node_of_[flow.to]}][type];
      bundle.names.insert(ValueName(plan_, graph_, flow.value));
      bundle.values.insert(flow.value);
    }
  }

  void AddFlows() {
    for (const auto& [ends, bundles] : flows_) {
      const std::string label = EdgeLabel(bundles);
      AddEdge(ends, DotText(Shortened(label)), DotText(label));
    }
  }

  void CollectOrders() {
    for (const StateOrder& order : FindStateOrder(plan_, graph_, operations_)) {
      const Ends ends{node_of_[order.before], node_of_[order.after]};
      if (ends.first == plan::kNone || ends.second == plan::kNone) continue;
      if (ends.first == ends.second && (detail_ == Detail::kCalls || !order.reads)) continue;
      Order& all = orders_[ends];
      (order.reads ? all.read : all.overwritten).insert(order.state);
    }
    for (const BarrierOrder& order : FindBarrierOrder(plan_, graph_, operations_)) {
      const Ends ends{node_of_[order.before], node_of_[order.after]};
      if (ends.first == plan::kNone || ends.second == plan::kNone) continue;
      if (ends.first != ends.second) orders_[ends];
    }
    Reduce();
  }

  // Leaves out edges of order that others imply. A reader of a state depends on its writer,
  // whatever else passes between the two, so only other states can imply that edge. An op that
  // overwrites a state, or that a barrier holds back, only has to come later, which all other edges
  // imply, too.
  void Reduce() {
    std::set<Ends> of_states, all;
    for (const auto& [ends, order] : orders_) {
      if (!order.barrier()) of_states.insert(ends);
      all.insert(ends);
    }
    for (const auto& [ends, bundles] : flows_) all.insert(ends);
    for (const bool reads : {true, false}) {
      for (auto it = orders_.begin(); it != orders_.end();) {
        const Ends ends = it->first;
        const bool implied =
            it->second.reads() == reads && ends.first != ends.second &&
            ((!reads && flows_.count(ends) > 0) || HasDetour(reads ? of_states : all, ends));
        if (implied) {
          of_states.erase(ends);
          if (flows_.count(ends) == 0) all.erase(ends);
        }
        it = implied ? orders_.erase(it) : std::next(it);
      }
    }
  }

  // Returns whether edges lead from one end to the other without the edge that joins them directly.
  static bool HasDetour(const std::set<Ends>& edges, const Ends& ends) {
    std::set<uint32_t> seen = {ends.first};
    std::vector<uint32_t> open = {ends.first};
    while (!open.empty()) {
      const uint32_t node = open.back();
      open.pop_back();
      for (auto it = edges.lower_bound({node, 0}); it != edges.end() && it->first == node; ++it) {
        if (*it == ends) continue;
        if (it->second == ends.second) return true;
        if (seen.insert(it->second).second) open.push_back(it->second);
      }
    }
    return false;
  }

  void AddOrders() {
    for (const auto& [ends, order] : orders_) {
      const auto [from, to] = ends;
      // Among calls drawn as one node, some may come before calls that others of them follow; such
      // an edge is laid out in the other direction.
      const bool against = FirstOf(nodes_[to]) < FirstOf(nodes_[from]);
      if (order.barrier()) {
        dot_ += fmt::format("  node{} -> node{} [style=dotted{}];\n", against ? to : from,
                            against ? from : to, against ? ", dir=back" : "");
        continue;
      }
      std::string names;
      for (const std::string& state : order.states()) names += (names.empty() ? "" : ", ") + state;
      const std::string told = fmt::format(
          "{}{}: {} {} what {} {}", names == kObjectName ? "" : "state ", names, nodes_[to].label,
          order.reads() ? "reads" : "overwrites", nodes_[from].label,
          order.reads() ? "wrote" : "used");
      const size_t count = order.states().size();
      const std::string label = count > kMaxLines ? fmt::format("{} states", count) : names;
      AddEdge(against ? Ends{to, from} : ends, DotText(label), DotText(told), "style=dashed",
              against);
    }
  }

  uint32_t FirstOf(const Node& node) const {
    uint32_t first = plan::kNone;
    for (uint32_t id : node.operations) {
      first =
          std::min(first, graph_.instructions[operations_.all[id].instructions[0]].program_order());
    }
    return first;
  }

  // Adds an edge. Between boxes, or where edges go the same way, its label is a node of its own on
  // the way: labels of such edges would be laid over each other. `back`: the arrow is at the first
  // end.
  void AddEdge(const Ends& ends, const std::string& label, const std::string& told,
               const std::string& style = "", bool back = false) {
    const auto [from, to] = ends;
    const std::string more = style.empty() ? "" : ", " + style;
    const std::string& box = nodes_[from].box;
    const bool inside = box == nodes_[to].box && !box.empty();
    if (inside && (from == to || !HasNeighbour(ends))) {
      dot_ += fmt::format("  node{} -> node{} [label=\"{}\", tooltip=\"{}\", "
                          "labeltooltip=\"{}\"{}{}];\n",
                          from, to, label, told, told, more, back ? ", dir=back" : "");
      return;
    }
    const std::string node = fmt::format(
        "flow{} [label=\"{}\", tooltip=\"{}\", shape=plaintext, style=\"\", fontsize=10, "
        "width=0, height=0, margin=\"0.04,0.02\"];",
        labels_, label, told);
    dot_ += inside ? fmt::format("  subgraph cluster{} {{ {} }}\n", cluster_of_.at(box), node)
                   : "  " + node + "\n";
    dot_ += fmt::format("  node{0} -> flow{1} [{2}{3}];\n", from, labels_,
                        back ? "dir=back" : "arrowhead=none", more);
    dot_ += fmt::format("  flow{0} -> node{1}{2};\n", labels_, to,
                        back            ? " [arrowhead=none" + more + "]"
                        : style.empty() ? ""
                                        : " [" + style + "]");
    ++labels_;
  }

  // Returns whether another edge joins the same nodes.
  bool HasNeighbour(const Ends& ends) const {
    const Ends reversed{ends.second, ends.first};
    return flows_.count(ends) + flows_.count(reversed) + orders_.count(ends) +
               orders_.count(reversed) > 1;
  }

  static std::string EdgeLabel(const std::map<std::string, Bundle>& bundles) {
    std::string label;
    size_t lines = 0;
    for (const auto& [type, bundle] : bundles) {
      if (lines++ == kMaxLines) {
        return label + fmt::format("\nand {} kinds more", bundles.size() - kMaxLines);
      }
      label += (label.empty() ? "" : "\n") + NamesOf(bundle) + ": " + type;
    }
    return label;
  }

  static std::string NamesOf(const Bundle& bundle) {
    constexpr size_t kMaxNames = 3;
    if (bundle.names.size() > kMaxNames) return fmt::format("{} values", bundle.values.size());
    std::string text;
    for (const std::string& name : bundle.names) {
      text += (text.empty() ? "" : ", ") + name;
    }
    return bundle.values.size() > bundle.names.size()
               ? fmt::format("{} \u00d7{}", text, bundle.values.size())
               : text;
  }

  const plan::Plan& plan_;
  const plan::Graph& graph_;
  const Operations operations_;
  const TooltipWriter tooltips_;
  const bool by_micro_batch_;
  const std::vector<Flow> values_;
  std::vector<uint32_t> meeting_of_;  // by operation: itself, or the first part of its collective
  std::map<uint32_t, Collective> collectives_;  // by their first part
  bool has_groups_ = false;           // more than one
  Detail detail_ = Detail::kCalls;
  std::vector<Node> nodes_;
  std::vector<uint32_t> node_of_;  // by operation
  std::map<Ends, std::map<std::string, Bundle>> flows_;  // by type and way
  std::map<Ends, Order> orders_;
  std::map<std::string, size_t> cluster_of_;  // by title of the box
  uint32_t labels_ = 0;
  Palette palette_;
  std::string dot_;
};

}  // namespace

std::string GraphDot(const plan::Plan& plan, const plan::Graph& graph, const DrawOptions& options) {
  return GraphDrawer(plan, graph, options).Draw();
}

}  // namespace cgraph
