// The schedule: each lane a column, its operations from top to bottom; what waits for another lane
// stands below what it waits for, and the ends of a transfer in one row where they meet. The fewest
// operations of a lane that must be taken out for the others to stand in program order are those
// that moved.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "compiler/inspect/draw/drawings.h"
#include "compiler/inspect/draw/operations.h"
#include "compiler/inspect/draw/palette.h"
#include "compiler/inspect/draw/rows.h"
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

// In points; what a character of a label takes is an average.
constexpr double kRow = 30, kCharacter = 6.3, kPadding = 18, kColumnGap = 26;

// Routing curves round n nodes takes Graphviz time and memory that grow much faster than n (minutes
// and gigabytes for 300): above this many operations edges are straight.
constexpr size_t kMostRouted = 60;

class ScheduleDrawer {
 public:
  ScheduleDrawer(const plan::Plan& plan, const plan::Graph& graph)
      : plan_(plan), graph_(graph), operations_(FindOperations(graph)),
        meetings_(FindMeetings(plan, graph)), awaited_(FindAwaited(graph, operations_)),
        rows_(FindRows(graph, operations_, meetings_, awaited_)) {}

  // Places are ours, so that a lane is a straight column; Graphviz's neato leaves pinned nodes where
  // they are and routes the edges round them.
  std::string Draw() {
    dot_ = fmt::format(
        "digraph \"{0}\" {{\n"
        "  layout=neato; inputscale=72; splines={1}; outputorder=edgesfirst;\n"
        "  label=\"schedule of {0}\"; labelloc=t; fontname=\"Helvetica\"; fontsize=16;\n"
        "  node [fontname=\"Helvetica\", fontsize=11, shape=box, style=filled, height=0.28, "
        "margin=\"0.08,0.03\"];\n"
        "  edge [fontname=\"Helvetica\", fontsize=9, arrowsize=0.6];\n",
        DotText(graph_.name), operations_.all.size() <= kMostRouted ? "true" : "line");
    for (uint32_t lane : Columns()) {
      AddLane(lane);
    }
    AddWaits();
    AddTransfers();
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

  static double Width(const std::string& label) {
    return kCharacter * static_cast<double>(label.size()) + kPadding;
  }

  void AddNode(const std::string& name, const std::string& label, double x, double row,
               const std::string& style) {
    dot_ += fmt::format("  {} [label=\"{}\", pos=\"{:.0f},{:.0f}!\", {}];\n", name, DotText(label), x,
                        -kRow * row, style);
  }

  void AddLane(uint32_t lane) {
    const std::vector<uint32_t>& ids = operations_.lanes[lane];
    const std::string title = plan::LaneName(plan_, lane);
    double width = Width(title) + 8;  // a larger font
    std::vector<uint32_t> written;
    for (uint32_t id : ids) {
      const Operation& operation = operations_.all[id];
      width = std::max(width, Width(OperationName(plan_, graph_, operation)));
      written.push_back(graph_.instructions[operation.instructions.front()].written());
    }
    const double x = right_ + width / 2;
    right_ += width + kColumnGap;
    AddNode(fmt::format("lane{}", lane), title, x, -1, "shape=plaintext, style=\"\", fontsize=13");
    const std::vector<bool> stays = LongestRising(written);
    for (size_t i = 0; i < ids.size(); ++i) {
      AddOperation(ids[i], x, !stays[i]);
      const std::string before =
          i == 0 ? fmt::format("lane{}", lane) : fmt::format("op{}", ids[i - 1]);
      dot_ += fmt::format("  {} -> op{} [color=\"{}\"];\n", before, ids[i], kFaint);
    }
  }

  void AddOperation(uint32_t id, double x, bool moved) {
    const Operation& operation = operations_.all[id];
    any_moved_ = any_moved_ || moved;
    std::string style = fmt::format(
        "fillcolor=\"{}\"", palette_.ColorOf(OperationFamily(plan_, graph_, operation)));
    if (moved) {
      style += kMovedStyle;
    }
    AddNode(fmt::format("op{}", id), OperationName(plan_, graph_, operation), x, rows_[id], style);
  }

  void AddWaits() {
    for (uint32_t id = 0; id < awaited_.size(); ++id) {
      for (uint32_t before : awaited_[id]) {
        dot_ += fmt::format("  op{} -> op{} [style=dotted, color=\"{}\"];\n", before, id, kFaint);
      }
    }
  }

  void AddTransfers() {
    for (const ChannelEnds& ends : meetings_.channels) {
      for (size_t j = 0; j < std::min(ends.sends.size(), ends.receives.size()); ++j) {
        AddMeeting(ends.sends[j], ends.receives[j], "");
      }
    }
    for (const std::vector<PartRef>& parts : meetings_.collectives) {
      for (size_t i = 1; i < parts.size(); ++i) {
        AddMeeting(parts[i - 1], parts[i], ", dir=none");
      }
    }
  }

  void AddMeeting(const PartRef& from, const PartRef& to, const char* more) {
    dot_ += fmt::format("  op{} -> op{} [color=\"{}\", penwidth=1.5{}];\n",
                        operations_.of[from.instruction], operations_.of[to.instruction],
                        kMeetingColor, more);
  }

  void AddLegend() {
    const double x = right_ + 110;
    double row = -1;
    AddNode("legend", "legend", x, row, "shape=plaintext, style=\"\"");
    const auto add = [&](const std::string& label, const std::string& style) {
      ++row;
      AddNode(fmt::format("legend{:.0f}", row), label, x, row, style);
    };
    for (const std::string& family : palette_.families()) {
      add(family, fmt::format("fillcolor=\"{}\"", palette_.ColorOf(family)));
    }
    const std::string plain = "shape=plaintext, style=\"\"";
    add("orange: the ends of a transfer", plain + fmt::format(", fontcolor=\"{}\"", kMeetingColor));
    add("dotted: waits for another lane", plain);
    if (any_moved_) {
      add("moved against program order", std::string("fillcolor=white") + kMovedStyle);
    } else {
      add("nothing moved against program order", plain);
    }
  }

  const plan::Plan& plan_;
  const plan::Graph& graph_;
  const Operations operations_;
  const Meetings meetings_;
  const std::vector<std::set<uint32_t>> awaited_;
  const std::vector<uint32_t> rows_;  // by operation
  Palette palette_;
  double right_ = 0;  // of the columns so far
  bool any_moved_ = false;
  std::string dot_;
};

}  // namespace

std::string ScheduleDot(const plan::Plan& plan, const plan::Graph& graph) {
  return ScheduleDrawer(plan, graph).Draw();
}

}  // namespace cgraph
