// The drawing of the schedule: each lane is a column, its operations from top to bottom. An
// operation that waits for another lane stands below the one that it waits for, and the ends of a
// transfer stand in one row. The operations that moved are the fewest of a lane that must be taken
// out for the others to stand in program order. Of a long schedule the picture shows one window of
// rows, of a wide one the first lanes.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
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

// Folds a label, "send h to gpu[1] by nccl", into lines that make narrow columns.
std::string Folded(std::string name) {
  for (const char* word : {" to ", " from "}) {
    const size_t at = name.find(word);
    if (at != std::string::npos) name[at] = '\n';
  }
  const size_t by = name.find(" by ");
  if (by != std::string::npos) name.replace(by, 4, ", ");
  const size_t dot = name.find('.');
  if (name.find('\n') == std::string::npos && name.size() > 14 && dot != std::string::npos) {
    name.insert(dot + 1, "\n");
  }
  return name;
}

class ScheduleDrawer {
  // Sizes in points; the width of a character of a label is an average.
  static constexpr double kRow = 40, kCharacter = 6.1, kPadding = 16, kColumnGap = 16;
  // Routing curves round n nodes takes Graphviz time and memory that grow much faster than n
  // (minutes and gigabytes for 300): above this many operations edges are straight.
  static constexpr size_t kMaxRouted = 60;
  // The most that one picture shows: more cannot be read, and takes long to lay out.
  static constexpr size_t kMaxShown = 320, kMaxRows = 100, kMaxColumns = 32;

 public:
  ScheduleDrawer(const plan::Plan& plan, const plan::Graph& graph, const DrawOptions& options)
      : plan_(plan), graph_(graph), operations_(FindOperations(plan, graph, options.color_by)),
        index_(IndexMessages(plan, graph)), awaited_(FindAwaited(graph, operations_)),
        rows_(FindRows(index_, operations_, awaited_)),
        moved_(FindMoved(plan, graph, operations_)), tooltips_(plan, graph, options.source),
        first_row_(options.first_row),
        palette_(FamiliesOf(plan, graph, operations_), options.color_by == ColorBy::kMicroBatch) {
    ChooseWindow();
  }

  // Draws. The positions of nodes are ours, so that a lane is a straight column; Graphviz's neato
  // leaves pinned nodes where they are and routes the edges round them.
  std::string Draw() {
    dot_ = fmt::format(
        "digraph \"{0}\" {{\n"
        "  layout=neato; inputscale=72; splines={1}; outputorder=edgesfirst;\n"
        "  label=\"schedule of {0}{2}\"; labelloc=t; fontname=\"Helvetica\"; fontsize=16;\n"
        "  node [fontname=\"Helvetica\", fontsize=11, shape=box, style=filled, height=0.28, "
        "margin=\"0.08,0.03\"];\n"
        "  edge [fontname=\"Helvetica\", fontsize=9, arrowsize=0.6];\n",
        DotText(graph_.name), shown_count_ <= kMaxRouted ? "true" : "line", WindowText());
    for (uint32_t lane : columns_) {
      AddLane(lane);
    }
    AddWaits();
    AddTransfers();
    AddLegend();
    return dot_ + "}\n";
  }

 private:
  // Returns the lanes from left to right: in the plan's order, except that the lane that gives out
  // results comes last.
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
        return operations_.all[id].kind == plan::Kind::output;
      });
    });
    return columns;
  }

  // Chooses as many rows, from the first one on, as a picture can hold.
  void ChooseWindow() {
    columns_ = Columns();
    left_out_lanes_ = columns_.size() - ShownOf(columns_.size(), kMaxColumns);
    columns_.resize(columns_.size() - left_out_lanes_);
    std::vector<size_t> by_row;
    for (uint32_t lane : columns_) {
      for (uint32_t id : operations_.lanes[lane]) {
        if (by_row.size() <= rows_[id]) by_row.resize(rows_[id] + 1, 0);
        ++by_row[rows_[id]];
      }
    }
    all_rows_ = static_cast<uint32_t>(by_row.size());
    first_row_ = std::min(first_row_, all_rows_ == 0 ? 0 : all_rows_ - 1);
    const size_t left = std::accumulate(by_row.begin() + first_row_, by_row.end(), size_t{0});
    const size_t max_rows = ShownOf(all_rows_ - first_row_, kMaxRows);
    const size_t max_shown = ShownOf(left, kMaxShown);
    for (end_row_ = first_row_; end_row_ < all_rows_; ++end_row_) {
      const bool full =
          shown_count_ + by_row[end_row_] > max_shown || end_row_ == first_row_ + max_rows;
      if (full && end_row_ > first_row_) break;
      shown_count_ += by_row[end_row_];
    }
    is_shown_.assign(operations_.all.size(), false);
    for (uint32_t lane : columns_) {
      for (uint32_t id : operations_.lanes[lane]) {
        is_shown_[id] = rows_[id] >= first_row_ && rows_[id] < end_row_;
      }
    }
  }

  std::string WindowText() const {
    std::string text;
    if (first_row_ > 0 || end_row_ < all_rows_) {
      text += fmt::format(": rows {} to {} of {}", first_row_, end_row_ - 1, all_rows_);
      if (end_row_ < all_rows_) text += fmt::format(", --from-row {} shows the next", end_row_);
    }
    if (left_out_lanes_ > 0) text += fmt::format(", without {} lanes more", left_out_lanes_);
    return text;
  }

  // Returns the width of a label's longest line.
  static double Width(const std::string& label) {
    size_t longest = 0;
    for (size_t from = 0; from <= label.size();) {
      const size_t end = std::min(label.find('\n', from), label.size());
      longest = std::max(longest, end - from);
      from = end + 1;
    }
    return kCharacter * static_cast<double>(longest) + kPadding;
  }

  void AddNode(const std::string& name, const std::string& label, double x, double row,
               const std::string& style) {
    dot_ += fmt::format("  {} [label=\"{}\", pos=\"{:.0f},{:.0f}!\", {}];\n", name, DotText(label),
                        x, -kRow * row, style);
  }

  void AddLane(uint32_t lane) {
    std::string title = plan::LaneName(plan_, lane);
    const size_t space = title.find(' ');
    if (space != std::string::npos) title[space] = '\n';
    double width = Width(title) + 8;  // a larger font
    for (uint32_t id : operations_.lanes[lane]) {
      const Operation& operation = operations_.all[id];
      if (is_shown_[id]) width = std::max(width, Width(LabelOf(operation)));
    }
    const double x = right_ + width / 2;
    right_ += width + kColumnGap;
    const std::string name = fmt::format("lane{}", lane);
    AddNode(name, title, x, -1.2, "shape=plaintext, style=\"\", fontsize=12");
    std::string before = name;
    for (uint32_t id : operations_.lanes[lane]) {
      if (!is_shown_[id]) continue;
      AddOperation(id, x);
      dot_ += fmt::format("  {} -> op{} [color=\"{}\", arrowhead=none];\n", before, id, "#cccccc");
      before = fmt::format("op{}", id);
    }
  }

  std::string LabelOf(const Operation& operation) const {
    std::string label = Folded(OperationName(plan_, graph_, operation));
    if (const uint32_t lag = LagOf(operation); lag > 0) label += fmt::format("\nof {} before", lag);
    return label;
  }
  uint32_t LagOf(const Operation& operation) const {
    return graph_.instructions[operation.instructions.front()].lag();
  }

  // "\nmoved: runs before all_reduce g, which the program has first".
  std::string MoveText(uint32_t id) const {
    const uint32_t other = moved_[id];
    if (other == plan::kNone) return "";
    return fmt::format("\nmoved: runs {} {}, which the program has {}",
                       id < other ? "before" : "after",
                       OperationName(plan_, graph_, operations_.all[other]),
                       id < other ? "first" : "later");
  }

  void AddOperation(uint32_t id, double x) {
    const Operation& operation = operations_.all[id];
    const bool moved = moved_[id] != plan::kNone;
    any_moved_ = any_moved_ || moved;
    any_lags_ = any_lags_ || LagOf(operation) > 0;
    std::string style = fmt::format(
        "tooltip=\"{}\", fillcolor=\"{}\"",
        DotText(tooltips_.Tell(operation) + MoveText(id)),
        palette_.ColorOf(OperationFamily(plan_, graph_, operation), operation.shade));
    if (moved) {
      style += kMovedStyle;
    }
    AddNode(fmt::format("op{}", id), LabelOf(operation), x,
            static_cast<double>(rows_[id] - first_row_), style);
  }

  void AddWaits() {
    for (uint32_t id = 0; id < awaited_.size(); ++id) {
      for (uint32_t before : awaited_[id]) {
        if (!is_shown_[before] || !is_shown_[id]) continue;
        dot_ += fmt::format("  op{} -> op{} [style=dotted, color=\"{}\"];\n", before, id, kFaint);
      }
    }
  }

  void AddTransfers() {
    for (uint32_t channel = 0; channel < graph_.channels.size(); ++channel) {
      const auto sends = index_.sends(channel), receives = index_.receives(channel);
      for (size_t j = 0; j < std::min(sends.size(), receives.size()); ++j) {
        AddMeeting(sends[j].instruction, receives[j].instruction, "");
      }
    }
    for (const CollectiveParts parts : CollectivesOf(index_)) {
      for (size_t i = 1; i < parts.size(); ++i) {
        AddMeeting(parts[i - 1].instruction, parts[i].instruction, ", dir=none");
      }
    }
  }

  void AddMeeting(uint32_t from, uint32_t to, const char* more) {
    const uint32_t sends = operations_.of[from];
    const uint32_t receives = operations_.of[to];
    if (!is_shown_[sends] || !is_shown_[receives]) return;
    dot_ += fmt::format("  op{} -> op{} [color=\"{}\", penwidth=1.8{}];\n", sends, receives,
                        kMeetingColor, more);
  }

  void AddLegend() {
    const double x = right_ + 80;
    double row = -1.2;
    const auto add = [&](const std::string& name, const std::string& label,
                         const std::string& style) {
      AddNode("legend" + name, label, x, row, style);
      row += 1;
    };
    const std::string plain = "shape=plaintext, style=\"\"";
    add("", "legend", plain + ", fontsize=12");
    std::vector<std::pair<std::string, std::string>> samples;  // colour; families that have it
    for (const std::string& family : std::vector<std::string>(palette_.families())) {
      const std::string color = palette_.ColorOf(family);
      const auto known = std::find_if(samples.begin(), samples.end(),
                                      [&](const auto& sample) { return sample.first == color; });
      if (known == samples.end()) {
        samples.emplace_back(color, family);
      } else {
        known->second += ",\n" + family;
      }
    }
    for (size_t i = 0; i < samples.size(); ++i) {
      add(std::to_string(i), samples[i].second, fmt::format("fillcolor=\"{}\"", samples[i].first));
    }
    for (const auto& [shade, methods] : ShadesOf(plan_, graph_, operations_)) {
      add("_shade" + methods, methods, fmt::format("fillcolor=\"{}\"", ShadeSample(shade)));
    }
    add("_meet", "thick: the ends\nof a transfer",
        plain + fmt::format(", fontcolor=\"{}\"", kMeetingColor));
    add("_wait", "dotted: waits for\nanother lane", plain);
    if (any_lags_) {
      add("_lag", "of 1 before: works for\nthe execution before", plain);
    }
    if (any_moved_) {
      add("_moved", "moved: runs before what\nthe program has earlier,\nor after what is later",
          std::string("fillcolor=white") + kMovedStyle);
    } else {
      add("_moved", "nothing moved against\nprogram order", plain);
    }
  }

  const plan::Plan& plan_;
  const plan::Graph& graph_;
  const Operations operations_;
  const plan::GraphIndex index_;
  const std::vector<std::set<uint32_t>> awaited_;
  const std::vector<uint32_t> rows_, moved_;  // by operation
  const TooltipWriter tooltips_;
  uint32_t first_row_, end_row_ = 0, all_rows_ = 0;  // of the window, and in all
  size_t shown_count_ = 0, left_out_lanes_ = 0;
  std::vector<uint32_t> columns_;
  std::vector<bool> is_shown_;  // by operation
  Palette palette_;
  double right_ = 0;  // of the columns so far
  bool any_moved_ = false, any_lags_ = false;
  std::string dot_;
};

}  // namespace

std::string ScheduleDot(const plan::Plan& plan, const plan::Graph& graph,
                        const DrawOptions& options) {
  return ScheduleDrawer(plan, graph, options).Draw();
}

}  // namespace cgraph
