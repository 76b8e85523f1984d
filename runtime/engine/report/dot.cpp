// The report as a drawing for Graphviz: a box for each lane, an arrow to each lane that it waits
// for, a frame for each rank. Causes have a red border. Where there are many lanes, those that do
// alike are one box.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "runtime/base/text.h"
#include "runtime/engine/report/report.h"

namespace cgraph::engine {
namespace {

using State = WaitingLane::State;

constexpr size_t kMostBoxes = 48;   // of single lanes
constexpr size_t kMostColumns = 60;  // of a line of text in a box
constexpr size_t kMostTitleColumns = 100;

constexpr const char* kAlarmColor = "#c4001a";
constexpr const char* kRunningColor = "#ffe3e3";
constexpr const char* kWaitingColor = "#ffffff";
constexpr const char* kFrameColor = "#f3f3f3";
constexpr const char* kBorderColor = "#666666";

std::string Html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\n': out += "<br align=\"left\"/>"; break;
      default: out += c;
    }
  }
  return out;
}

// Breaks a text into lines where it has spaces.
std::string Folded(std::string_view text, size_t columns) {
  std::string out;
  size_t column = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (column != 0 && column + 1 + end > columns) {
      out += '\n';
      column = 0;
    } else if (column != 0) {
      out += ' ';
      ++column;
    }
    out += text.substr(0, end);
    const size_t line = text.substr(0, end).rfind('\n');
    column = line == std::string_view::npos ? column + end : end - line - 1;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

class Drawing {
 public:
  explicit Drawing(std::span<const WaitingLane> lanes)
      : lanes_(lanes), causes_(FindCauses(lanes)), box_of_(lanes.size()) {
    std::vector<uint32_t> all(lanes.size());
    std::iota(all.begin(), all.end(), 0);
    if (lanes.size() > kMostBoxes) {
      boxes_ = GroupAlike(lanes, all);
    } else {
      for (uint32_t i : all) boxes_.push_back({i});
    }
    for (uint32_t box = 0; box < boxes_.size(); ++box) {
      for (uint32_t lane : boxes_[box]) box_of_[lane] = box;
    }
  }

  std::string Draw() {
    dot_ = fmt::format(
        "digraph waits {{\n"
        "  graph [rankdir={}, fontname=\"Helvetica\", fontsize=12, labelloc=t, labeljust=l, "
        "nodesep=0.25, ranksep=0.5, pad=0.2, bgcolor=white, label=<{}>];\n"
        "  node [shape=box, style=filled, fillcolor=\"{}\", color=\"{}\", fontname=\"Helvetica\", "
        "fontsize=11, margin=\"0.15,0.08\"];\n"
        "  edge [color=\"{}\", arrowsize=0.8];\n",
        IsDeep() ? "TB" : "LR", TitleText(), kWaitingColor, kBorderColor, kBorderColor);
    AddFrames();
    AddArrows();
    return dot_ + "}\n";
  }

 private:
  std::string TitleText() const {
    if (lanes_.empty()) return "no lane has work left";
    return fmt::format(
        "<b>{}</b><font color=\"{}\" point-size=\"10\">{}</font>",
        Html(Folded(CausesText(lanes_, causes_), kMostTitleColumns) + "\n"), kBorderColor,
        Html("an arrow leads to whom a lane waits for; red: what all others wait for\n"));
  }

  // Returns whether chains of waits are longer than any number of boxes beside each other: boxes
  // are some five times as wide as high.
  bool IsDeep() const {
    std::map<uint32_t, std::set<uint32_t>> levels;  // boxes by distance to a cause
    for (uint32_t lane = 0; lane < lanes_.size(); ++lane) {
      levels[causes_.distance[lane]].insert(box_of_[lane]);
    }
    size_t widest = 0;
    for (const auto& [distance, boxes] : levels) widest = std::max(widest, boxes.size());
    return levels.size() > widest;
  }

  // Adds the boxes, those of one process in a frame.
  void AddFrames() {
    std::map<std::string, std::vector<uint32_t>> frames;  // by title
    for (uint32_t box = 0; box < boxes_.size(); ++box) frames[FrameOf(box)].push_back(box);
    uint32_t number = 0;
    for (const auto& [title, boxes] : frames) {
      if (!title.empty()) {
        dot_ += fmt::format("  subgraph cluster_{} {{\n    label={};\n    style=filled;\n"
                            "    color=\"{}\";\n    fontsize=11;\n    labelloc={};\n",
                            number++, Quoted(title), kFrameColor,
                            std::all_of(boxes.begin(), boxes.end(),
                                        [&](uint32_t box) { return IsCause(box); })
                                ? "b"   // arrows come from above
                                : "t");
      }
      for (uint32_t box : boxes) AddBox(box);
      if (!title.empty()) dot_ += "  }\n";
    }
  }

  std::string FrameOf(uint32_t box) const {
    std::set<uint32_t> ranks;
    for (uint32_t lane : boxes_[box]) ranks.insert(lanes_[lane].rank);
    const WaitingLane& first = lanes_[boxes_[box].front()];
    if (first.process.empty()) return "";
    if (ranks.size() != 1) {
      return RangesText(std::vector<uint32_t>(ranks.begin(), ranks.end()), "rank ", "");
    }
    return first.process + (first.halted ? ", which is stopped or cannot be reached" : "");
  }

  bool IsCause(uint32_t box) const { return causes_.distance[boxes_[box].front()] == 0; }

  void AddBox(uint32_t box) {
    const WaitingLane& lane = lanes_[boxes_[box].front()];
    std::string more =
        lane.state == State::kNotBegun
            ? fmt::format("has not begun {}{}{}", lane.execution, lane.why.empty() ? "" : ": ",
                          lane.why)
            : fmt::format("{} {}{}\n{}", lane.doing, lane.why, lane.others, lane.execution);
    if (lane.seconds) more += fmt::format(", for {:.1f} s", *lane.seconds);
    if (!lane.progress.empty()) more += "; " + lane.progress;
    if (!lane.before.empty()) more += "\nbefore that: " + lane.before;
    if (boxes_[box].size() > 1) {
      std::vector<LogicalDevice> devices;
      for (uint32_t i : boxes_[box]) devices.push_back(lanes_[i].device);
      more += fmt::format("\n{} like this one, of {}", Counted(boxes_[box].size(), "lane"),
                          DevicesText(std::move(devices)));
    }
    dot_ += fmt::format("    box{} [label=<<b>{}</b><br align=\"left\"/>{}>{}];\n", box,
                        Html(lane.name), Html(Folded(more, kMostColumns) + "\n"),
                        IsCause(box)
                            ? fmt::format(", color=\"{}\", fillcolor=\"{}\", penwidth=1.8, "
                                           "peripheries=2",
                                           kAlarmColor, kRunningColor)
                             : "");
  }

  void AddArrows() {
    std::set<std::pair<uint32_t, uint32_t>> drawn;
    for (uint32_t i = 0; i < lanes_.size(); ++i) {
      for (uint32_t other : lanes_[i].waits_for) {
        if (!drawn.emplace(box_of_[i], box_of_[other]).second) continue;
        dot_ += fmt::format("  box{} -> box{};\n", box_of_[i], box_of_[other]);
      }
    }
  }

  const std::span<const WaitingLane> lanes_;
  const Causes causes_;
  std::vector<std::vector<uint32_t>> boxes_;  // lanes
  std::vector<uint32_t> box_of_;              // by lane
  std::string dot_;
};

}  // namespace

std::string ReportDot(std::span<const WaitingLane> lanes) { return Drawing(lanes).Draw(); }

}  // namespace cgraph::engine
