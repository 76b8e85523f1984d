// The schedule: each lane a column, its operations from top to bottom; what waits for another lane
// stands below what it waits for, and the ends of a transfer in one row where they meet. The fewest operations of a lane that must be taken out for the others
// to stand in program order are those that moved.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "compiler/inspect/draw/drawings.h"
#include "compiler/inspect/draw/operations.h"
#include "compiler/inspect/draw/palette.h"
#include "compiler/inspect/draw/text.h"
#include "compiler/inspect/meetings.h"
#include "runtime/plan/print.h"

namespace cgraph {
namespace {

// For each number, whether it stays in one longest rising subsequence.
std::vector<bool> LongestRising(const std::vector<uint32_t>& numbers) {
  std::vector<size_t> tails;  // by length - 1: where the rising sequence with the least end ends
  std::vector<size_t> before(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto at = std::upper_bound(tails.begin(), tails.end(), numbers[i],
                                     [&](uint32_t number, size_t tail) {
                                       return number < numbers[tail];
                                     });
    before[i] = at == tails.begin() ? numbers.size() : *(at - 1);
    if (at == tails.end()) {
      tails.push_back(i);
    } else {
      *at = i;
    }
  }
  std::vector<bool> stays(numbers.size(), false);
  for (size_t i = tails.empty() ? numbers.size() : tails.back(); i < numbers.size(); i = before[i]) {
    stays[i] = true;
  }
  return stays;
}

class ScheduleDrawer {
 public:
  ScheduleDrawer(const plan::Plan& plan, const plan::Graph& graph)
      : plan_(plan), graph_(graph), operations_(FindOperations(graph)) {}

  std::string Draw() {
    dot_ = fmt::format(
        "digraph \"{}\" {{\n"
        "  nodesep=0.25; ranksep=0.22; newrank=true; splines=true;\n"
        "  label=\"schedule of {}\"; labelloc=t; fontname=\"Helvetica\"; fontsize=16;\n"
        "  node [fontname=\"Helvetica\", fontsize=11, shape=box, style=filled, height=0.3, "
        "margin=\"0.1,0.04\"];\n"
        "  edge [fontname=\"Helvetica\", fontsize=9];\n",
        DotText(graph_.name), DotText(graph_.name));
    const std::vector<uint32_t> columns = Columns();
    for (size_t i = 0; i < columns.size(); ++i) {
      AddLane(columns[i]);
      if (i > 0) {
        dot_ += fmt::format("  {{ rank=same; lane{} -> lane{} [style=invis]; }}\n", columns[i - 1],
                            columns[i]);
      }
    }
    AddWaits();
    AddTransfers();
    AddRows();
    AddLegend();
    return dot_ + "}\n";
  }

 private:
  // Lanes from left to right: as they are in the plan, but what gives results out comes last.
  std::vector<uint32_t> Columns() const {
    std::vector<uint32_t> columns;
    for (uint32_t lane = 0; lane < operations_.lanes.size(); ++lane) {
      if (!operations_.lanes[lane].empty()) {
        columns.push_back(lane);
      }
    }
    std::stable_partition(columns.begin(), columns.end(), [&](uint32_t lane) {
      const std::vector<uint32_t>& ids = operations_.lanes[lane];
      return std::none_of(ids.begin(), ids.end(), [&](uint32_t id) {
        return operations_.all[id].kind == plan::Kind::give;
      });
    });
    return columns;
  }

  void AddLane(uint32_t lane) {
    const std::vector<uint32_t>& ids = operations_.lanes[lane];
    dot_ += fmt::format("  lane{0} [label=\"{1}\", shape=plaintext, style=\"\", fontsize=13, "
                        "group=lane{0}];\n",
                        lane, DotText(plan::LaneName(plan_, lane)));
    std::vector<uint32_t> written;
    for (uint32_t id : ids) {
      written.push_back(graph_.instructions[operations_.all[id].instructions.front()].written());
    }
    const std::vector<bool> stays = LongestRising(written);
    for (size_t i = 0; i < ids.size(); ++i) {
      AddOperation(ids[i], lane, !stays[i]);
      const std::string before =
          i == 0 ? fmt::format("lane{}", lane) : fmt::format("op{}", ids[i - 1]);
      dot_ += fmt::format("  {} -> op{} [weight=100, color=\"{}\", arrowsize=0.5];\n", before,
                          ids[i], kFaint);
    }
  }

  void AddOperation(uint32_t id, uint32_t lane, bool moved) {
    const Operation& operation = operations_.all[id];
    any_moved_ = any_moved_ || moved;
    dot_ += fmt::format("  op{} [label=\"{}\", group=lane{}, fillcolor=\"{}\"{}];\n", id,
                        DotText(OperationName(plan_, graph_, operation)), lane,
                        palette_.ColorOf(OperationFamily(plan_, graph_, operation)),
                        moved ? fmt::format(", color=\"{0}\", fontcolor=\"{0}\", penwidth=2",
                                            kMovedColor)
                              : "");
  }

  // What an operation waits for on other lanes in the same round; it stands below that.
  void AddWaits() {
    std::vector<uint32_t> signalled(graph_.events, plan::kNone);  // by event: what it is the end of
    for (const plan::Range& program : graph_.programs) {
      uint32_t last = plan::kNone;
      for (uint32_t i = program.first(); i < program.first() + program.count(); ++i) {
        if (graph_.instructions[i].kind() == plan::Kind::signal) {
          signalled[graph_.instructions[i].subject()] = last;
        } else if (operations_.of[i] != plan::kNone) {
          last = operations_.of[i];
        }
      }
    }
    for (const plan::Range& program : graph_.programs) {
      std::set<uint32_t> awaited;
      for (uint32_t i = program.first(); i < program.first() + program.count(); ++i) {
        const plan::Instruction& instruction = graph_.instructions[i];
        for (uint32_t w = 0; instruction.kind() == plan::Kind::wait && w < instruction.inputs();
             ++w) {
          const plan::Wait& wait = graph_.waits[instruction.first() + w];
          if (wait.lag() == 0 && signalled[wait.event()] != plan::kNone) {
            awaited.insert(signalled[wait.event()]);
          }
        }
        if (operations_.of[i] != plan::kNone) {
          for (uint32_t before : awaited) {
            dot_ += fmt::format(
                "  op{} -> op{} [style=dotted, color=\"{}\", arrowsize=0.5, weight=0];\n", before,
                operations_.of[i], kFaint);
          }
          awaited.clear();
        }
      }
    }
  }

  void AddTransfers() {
    const Meetings meetings = FindMeetings(plan_, graph_);
    for (uint32_t c = 0; c < meetings.channels.size(); ++c) {
      const ChannelEnds& ends = meetings.channels[c];
      const plan::Channel& channel = graph_.channels[c];
      for (size_t j = 0; j < std::min(ends.sends.size(), ends.receives.size()); ++j) {
        const uint32_t send = operations_.of[ends.sends[j].instruction];
        const uint32_t receive = operations_.of[ends.receives[j].instruction];
        dot_ += fmt::format(
            "  op{} -> op{} [constraint=false, color=\"#e6550d\", penwidth=1.5, label=\"{}\"];\n",
            send, receive, wire::EnumNameCarrier(channel.carrier()));
        if (channel.protocol() == plan::Protocol::rendezvous) {
          Join(send, receive);
        }
      }
    }
    for (const std::vector<PartRef>& parts : meetings.collectives) {
      for (size_t i = 1; i < parts.size(); ++i) {
        const uint32_t one = operations_.of[parts[i - 1].instruction];
        const uint32_t other = operations_.of[parts[i].instruction];
        dot_ += fmt::format(
            "  op{} -> op{} [constraint=false, dir=none, color=\"#e6550d\", penwidth=1.5];\n", one,
            other);
        Join(one, other);
      }
    }
  }

  // The ends of a rendezvous share their place in the certificate, so they can share a row.
  void Join(uint32_t a, uint32_t b) {
    const uint32_t order = graph_.instructions[operations_.all[a].instructions.front()].order();
    if (graph_.instructions[operations_.all[b].instructions.front()].order() == order) {
      rows_[order].push_back(a);
      rows_[order].push_back(b);
    }
  }

  void AddRows() {
    for (auto& [order, ids] : rows_) {
      std::sort(ids.begin(), ids.end());
      ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
      dot_ += "  { rank=same;";
      for (uint32_t id : ids) {
        dot_ += fmt::format(" op{};", id);
      }
      dot_ += " }\n";
    }
  }

  void AddLegend() {
    dot_ += "  subgraph cluster_legend {\n    label=\"legend\"; color=\"#dddddd\"; fontsize=11;\n";
    size_t number = 0;
    const auto add = [&](const std::string& label, const std::string& attributes) {
      dot_ += fmt::format("    legend{} [label=\"{}\", {}];\n", number, DotText(label), attributes);
      if (number > 0) {
        dot_ += fmt::format("    legend{} -> legend{} [style=invis];\n", number - 1, number);
      }
      ++number;
    };
    for (const std::string& family : palette_.families()) {
      add(family, fmt::format("fillcolor=\"{}\"", palette_.ColorOf(family)));
    }
    add("orange: the ends of a transfer\ndotted: waits for another lane",
        "shape=plaintext, style=\"\"");
    add(any_moved_ ? "moved against program order" : "nothing moved against program order",
        any_moved_ ? fmt::format("fillcolor=white, color=\"{0}\", fontcolor=\"{0}\", penwidth=2",
                                 kMovedColor)
                   : "shape=plaintext, style=\"\"");
    dot_ += "  }\n";
  }

  const plan::Plan& plan_;
  const plan::Graph& graph_;
  const Operations operations_;
  Palette palette_;
  bool any_moved_ = false;
  std::map<uint32_t, std::vector<uint32_t>> rows_;  // by position in the certificate
  std::string dot_;
};

}  // namespace

std::string ScheduleDot(const plan::Plan& plan, const plan::Graph& graph) {
  return ScheduleDrawer(plan, graph).Draw();
}

}  // namespace cgraph
