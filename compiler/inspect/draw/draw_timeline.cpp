// The drawing of the timeline: one row per lane, time to the right, a bar where the lane is at
// work. A transfer's end that is ready before the other is pale until both are. Bars too narrow to
// be seen are drawn together with their neighbours of the same kind, and of very many lanes only
// the first are shown.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "compiler/inspect/draw/drawings.h"
#include "compiler/inspect/draw/facts/facts.h"
#include "compiler/inspect/draw/facts/operations.h"
#include "compiler/inspect/draw/facts/tooltip_writer.h"
#include "compiler/inspect/draw/formats/svg.h"
#include "compiler/inspect/draw/palette.h"
#include "compiler/inspect/simulate.h"
#include "runtime/base/text.h"
#include "runtime/plan/print.h"

namespace cgraph {
namespace {

struct Bar {
  uint32_t operation;
  uint64_t execution;
  uint64_t start, active, end;
};

class TimelineDrawer {
  static constexpr double kRow = 26, kBar = 20, kAxis = 26, kGap = 8;
  static constexpr double kMinWidth = 700, kMaxWidth = 3000;
  static constexpr size_t kMaxRows = 200;
  static constexpr double kLeastFrame = 4;  // its width
  static constexpr const char* kFrameStyle =
      "fill=\"none\" stroke=\"#333333\" stroke-width=\"1.2\"";

 public:
  TimelineDrawer(const plan::Plan& plan, const plan::Graph& graph, const Simulation& simulation,
                 const DrawOptions& options)
      : plan_(plan), graph_(graph), simulation_(simulation),
        operations_(FindOperations(plan, graph, options.color_by)),
        tooltips_(plan, graph, options.source), bars_(graph.programs.size()),
        places_(graph.programs.size()),
        palette_(FamiliesOf(plan, graph, operations_), options.color_by == ColorBy::kMicroBatch),
        width_(options.width) {
    for (const Operation& operation : operations_.all) {
      if (operation.kind == plan::Kind::call && operation.call != plan::kNone &&
          graph.calls[operation.call].place() != plan::kNone) {
        places_[operation.lane].insert(graph.calls[operation.call].place());
      }
    }
  }

  std::string Draw() {
    CollectBars();
    ChooseWidth();
    double y = kSvgTop;
    uint32_t device = plan::kNone;
    const auto rows = static_cast<size_t>(
        std::count_if(bars_.begin(), bars_.end(), [](const auto& bars) { return !bars.empty(); }));
    const size_t shown = ShownOf(rows, kMaxRows);
    size_t row = 0;
    for (uint32_t lane = 0; lane < bars_.size(); ++lane) {
      if (bars_[lane].empty() || ++row > shown) {
        continue;
      }
      if (device != plan::kNone && device != plan_.lanes[lane].device()) {
        y += kGap;
      }
      device = plan_.lanes[lane].device();
      AddRow(lane, y);
      y += kRow;
    }
    if (rows > shown) {
      svg_ += SvgText(axis_.left(), y + 14, fmt::format("and {} lanes more", rows - shown));
      y += kRow;
    }
    const std::string grid = axis_.Grid(kSvgTop - 6, y);
    const double legend_top = y + kAxis + 14;
    const SvgBlock legend = SvgLegend(Legend(), axis_.left(), legend_top, axis_.width());
    const std::string times =
        simulation_.measured ? fmt::format("measured{}, {}",
                                           simulation_.ended.empty()
                                               ? ""
                                               : " in a run that was not finished (" +
                                                     simulation_.ended + ")",
                                           TimeText(simulation_.makespan))
                             : fmt::format("makespan {}, lower bound {}",
                                           TimeText(simulation_.makespan),
                                           TimeText(simulation_.lower_bound()));
    const std::string title =
        fmt::format("{}: {}, {}", graph_.name, times, BubbleText(simulation_)) +
        (simulation_.executions > 1 ? "; #2: of the second execution" : "");
    return SvgPage(title, width_ > 0 ? width_ : axis_.left() + axis_.width() + kSvgRight,
                   legend_top + legend.height + 10,
                   rows_ + grid + svg_ + legend.svg, width_ > 0);
  }

 private:
  // Collects the bars: the instructions of one operation in one execution are one bar.
  void CollectBars() {
    for (const plan::TraceEvent& event : simulation_.events) {
      const uint32_t operation = operations_.of[event.instruction];
      std::vector<Bar>& bars = bars_[event.lane];
      if (!bars.empty() && bars.back().operation == operation &&
          bars.back().execution == event.execution) {
        bars.back().end = event.end;
        continue;
      }
      bars.push_back({operation, event.execution, event.start, event.active, event.end});
    }
  }

  // Chooses a width at which an ordinary bar can carry its name, within bounds.
  void ChooseWidth() {
    double left = 0;
    std::vector<double> wanted;
    for (uint32_t lane = 0; lane < bars_.size(); ++lane) {
      if (!bars_[lane].empty()) {
        left = std::max(left, kSvgMargin + TextWidth(plan::LaneName(plan_, lane)) + 12);
      }
      for (const Bar& bar : bars_[lane]) {
        const double share = static_cast<double>(bar.end - bar.active) /
                             static_cast<double>(simulation_.makespan);
        if (share > 0) {
          const std::string name = NamesOf(bar).front() + ExecutionText(bar);
          wanted.push_back((TextWidth(name) + 8) / share);
        }
      }
    }
    std::sort(wanted.begin(), wanted.end());
    const double width = wanted.empty() ? kMinWidth : wanted[wanted.size() / 2];
    axis_ = TimeAxis(simulation_.makespan, left,
                     width_ > 0 ? AxisWidthFor(width_, left)
                                : std::clamp(width, kMinWidth, kMaxWidth));
  }

  // Returns the names, without the actor where the row says it already.
  std::vector<std::string> NamesOf(const Bar& bar) const {
    const Operation& operation = operations_.all[bar.operation];
    std::vector<std::string> names = ShortNames(plan_, graph_, operation);
    const bool placed = operation.kind == plan::Kind::call && operation.call != plan::kNone &&
                        graph_.calls[operation.call].place() != plan::kNone;
    if (placed && places_[operation.lane].size() == 1) {
      names.erase(names.begin());
    }
    return names;
  }

  // " #1" of the first execution, where there are several.
  std::string ExecutionText(const Bar& bar) const {
    return simulation_.executions > 1 ? fmt::format(" #{}", bar.execution + 1) : "";
  }

  void AddRow(uint32_t lane, double y) {
    svg_ += SvgText(axis_.left() - 8, y + kBar / 2 + 4, plan::LaneName(plan_, lane),
                    "text-anchor=\"end\"");
    rows_ += SvgRect(axis_.left(), y, axis_.width(), kBar, fmt::format("fill=\"{}\"", kGround));
    const std::vector<Bar>& bars = bars_[lane];
    for (size_t i = 0; i < bars.size();) {
      size_t end = i + 1;
      while (end < bars.size() && AreNarrow(bars[i], bars[end])) {
        ++end;
      }
      // Bars that stand close together would be all border.
      constexpr double kRoom = 3;
      const bool roomy =
          axis_.X(bars[end - 1].end) - axis_.X(bars[i].start) >= kRoom ||
          ((i == 0 || axis_.X(bars[i].start) - axis_.X(bars[i - 1].end) >= kRoom) &&
           (end == bars.size() || axis_.X(bars[end].start) - axis_.X(bars[end - 1].end) >= kRoom));
      AddBar(bars[i], bars[end - 1], end - i, roomy, y);
      i = end;
    }
    AddFrames(bars, y);
  }

  // Frames actions of several bars between which nothing stands.
  void AddFrames(const std::vector<Bar>& bars, double y) {
    std::map<std::pair<uint32_t, uint64_t>, size_t> counts;  // by action and execution
    for (const Bar& bar : bars) ++counts[{ActionOf(bar), bar.execution}];
    for (size_t i = 0, end; i < bars.size(); i = end) {
      const uint32_t action = ActionOf(bars[i]);
      for (end = i + 1; end < bars.size() && action != 0 && ActionOf(bars[end]) == action &&
                        bars[end].execution == bars[i].execution;) {
        ++end;
      }
      const double from = axis_.X(bars[i].active), to = axis_.X(bars[end - 1].end);
      const bool is_whole = end - i == counts[{action, bars[i].execution}];
      if (end - i < 2 || !is_whole || to - from < kLeastFrame) continue;
      svg_ += SvgRect(from - 1, y - 1.5, to - from + 2, kBar + 3, kFrameStyle);
      framed_ = true;
    }
  }
  uint32_t ActionOf(const Bar& bar) const {
    const uint32_t call = operations_.all[bar.operation].call;
    return call == plan::kNone ? 0 : graph_.calls[call].action();
  }

  std::string ColorOf(const Bar& bar) {
    const Operation& operation = operations_.all[bar.operation];
    return palette_.ColorOf(OperationFamily(plan_, graph_, operation), operation.shade);
  }

  // Returns whether all bars from `first` to `last` together are narrower than a pixel, and of one
  // colour.
  bool AreNarrow(const Bar& first, const Bar& last) {
    return axis_.X(last.end) - axis_.X(first.start) < 1 && ColorOf(first) == ColorOf(last);
  }

  std::string BarRect(uint64_t from, uint64_t to, double y, const std::string& style) const {
    const double x = axis_.X(from);
    return SvgRect(x, y, std::max(axis_.X(to) - x, 0.5), kBar, style);
  }

  // Draws `count` bars from `bar` to `last` as one, with a border if there is room for it.
  void AddBar(const Bar& bar, const Bar& last, size_t count, bool roomy, double y) {
    const std::string color = ColorOf(bar);
    std::string told = tooltips_.Tell(operations_.all[bar.operation]);
    const std::string times = fmt::format("{} to {}", TimeText(bar.start), TimeText(last.end));
    told.insert(std::min(told.find('\n'), told.size()),
                (count > 1 ? fmt::format(" and {} more", count - 1) : "") + ": " + times);
    if (simulation_.executions > 1) {
      told += fmt::format("\nexecution {}", bar.execution + 1);
    }
    std::string content;
    if (bar.active > bar.start) {
      if (waiting_color_.empty()) waiting_color_ = color;
      content += BarRect(bar.start, bar.active, y, PaleStyle(color));
    }
    if (last.end > bar.active) {
      content += BarRect(bar.active, last.end, y, FilledStyle(color, roomy)) +
                 (count == 1 ? NameInside(bar, y) : "");
    }
    svg_ += SvgItem(told, content);
  }

  static std::string PaleStyle(const std::string& color) {
    return fmt::format("fill=\"{}\" fill-opacity=\"0.35\"", color);
  }

  // Returns the longest of its names that fits, or as much of the shortest as fits; no name is
  // better than one that runs into its neighbour.
  std::string NameInside(const Bar& bar, double y) {
    const double from = axis_.X(bar.active), to = axis_.X(bar.end);
    const auto inside = [&](const std::string& text) {
      return SvgText((from + to) / 2, y + kBar / 2 + 4, text, "text-anchor=\"middle\"");
    };
    const std::vector<std::string> names = NamesOf(bar);
    const std::string execution = ExecutionText(bar);
    for (const std::string& name : names) {
      if (TextWidth(name + execution) > to - from - 4) continue;
      const uint32_t micro_batch = operations_.all[bar.operation].micro_batch;
      const bool number = micro_batch != plan::kNone && name == std::to_string(micro_batch);
      if (number && !numbered_) numbered_ = micro_batch;
      return inside(name + execution);
    }
    const std::string cut = FittedText(names.back(), to - from - 2 - TextWidth(execution));
    return cut.empty() ? "" : inside(cut + execution);
  }

  std::vector<std::pair<std::string, std::string>> Legend() {
    std::vector<std::pair<std::string, std::string>> entries;
    for (const std::string& family : palette_.families()) {
      entries.emplace_back(FilledStyle(palette_.ColorOf(family)), family);
    }
    for (const auto& [shade, method] : ShadesOf(plan_, graph_, operations_)) {
      entries.emplace_back(FilledStyle(ShadeSample(shade)), "of this shade: " + method);
    }
    if (!waiting_color_.empty()) {
      entries.emplace_back(PaleStyle(waiting_color_),
                           "pale: waits for the other end, or for what it goes through");
    }
    if (framed_) entries.emplace_back(kFrameStyle, "framed: one action of the schedule");
    entries.emplace_back(fmt::format("fill=\"{}\" stroke=\"#cccccc\"", kGround), "idle");
    if (numbered_) {
      entries.emplace_back("fill=\"none\"",
                           fmt::format("{0} or mb {0}: of micro-batch {0}", *numbered_));
    }
    return entries;
  }

  const plan::Plan& plan_;
  const plan::Graph& graph_;
  const Simulation& simulation_;
  const Operations operations_;
  const TooltipWriter tooltips_;
  std::vector<std::vector<Bar>> bars_;    // by lane
  std::vector<std::set<uint32_t>> places_;  // by lane: whose calls run on it
  Palette palette_;
  const double width_;  // of the page, as it was asked for; 0: not asked for
  TimeAxis axis_{0, 0, 0};
  std::string waiting_color_;  // of the first bar that waits; "": none does
  bool framed_ = false;
  std::optional<uint32_t> numbered_;  // a micro-batch of which a bar says nothing but the number
  std::string rows_, svg_;  // from back to front
};

}  // namespace

std::string TimelineSvg(const plan::Plan& plan, const plan::Graph& graph,
                        const Simulation& simulation, const DrawOptions& options) {
  return TimelineDrawer(plan, graph, simulation, options).Draw();
}

}  // namespace cgraph
