// The timeline: one row per lane, time to the right, a bar where the lane is at work. A transfer's
// end that is ready before the other is pale until both are. Bars too narrow to be seen are drawn
// together with their neighbours of the same kind, and of very many lanes only the first are shown.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "compiler/inspect/draw/drawings.h"
#include "compiler/inspect/draw/facts/operations.h"
#include "compiler/inspect/draw/palette.h"
#include "compiler/inspect/draw/formats/svg.h"
#include "compiler/inspect/draw/facts/tooltip_writer.h"
#include "compiler/inspect/simulation_report.h"
#include "runtime/plan/print.h"
#include "runtime/status/text.h"

namespace cgraph {
namespace {

constexpr double kRow = 26, kBar = 20, kAxis = 26, kGap = 8;
constexpr double kMinWidth = 700, kMaxWidth = 3000;
constexpr size_t kMaxRows = 200;

struct Bar {
  uint32_t operation;
  uint64_t execution;
  uint64_t start, active, end;
};

class TimelineDrawer {
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
    size_t rows = 0;
    for (uint32_t lane = 0; lane < bars_.size(); ++lane) {
      if (bars_[lane].empty() || ++rows > kMaxRows) {
        continue;
      }
      if (device != plan::kNone && device != plan_.lanes[lane].device()) {
        y += kGap;
      }
      device = plan_.lanes[lane].device();
      AddRow(lane, y);
      y += kRow;
    }
    if (rows > kMaxRows) {
      svg_ += SvgText(axis_.left(), y + 14, fmt::format("and {} lanes more", rows - kMaxRows));
      y += kRow;
    }
    const std::string grid = axis_.Grid(kSvgTop - 6, y);
    const double legend_top = y + kAxis + 14;
    const SvgBlock legend = SvgLegend(Legend(), axis_.left(), legend_top, axis_.width());
    const std::string title =
        fmt::format("{}: makespan {}, lower bound {}, {}", graph_.name,
                    TimeText(simulation_.makespan), TimeText(simulation_.lower_bound()),
                    BubbleText(simulation_)) +
        (simulation_.executions > 1 ? "; #1: of the second execution" : "");
    return SvgPage(title, width_ > 0 ? width_ : axis_.left() + axis_.width() + kSvgRight,
                   legend_top + legend.height + 10,
                   rows_ + grid + svg_ + legend.svg, width_ > 0);
  }

 private:
  // The instructions of one operation in one execution are one bar.
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

  // Wide enough that an ordinary bar can carry its name, within bounds.
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
          wanted.push_back((TextWidth(NamesOf(bar).front()) + 8) / share);
        }
      }
    }
    std::sort(wanted.begin(), wanted.end());
    const double width = wanted.empty() ? kMinWidth : wanted[wanted.size() / 2];
    axis_ = TimeAxis(simulation_.makespan, left,
                     width_ > 0 ? AxisWidthFor(width_, left)
                                : std::clamp(width, kMinWidth, kMaxWidth));
  }

  // Without the actor where it says nothing that the row does not.
  std::vector<std::string> NamesOf(const Bar& bar) const {
    const Operation& operation = operations_.all[bar.operation];
    std::vector<std::string> names = ShortNames(plan_, graph_, operation);
    const bool placed = operation.kind == plan::Kind::call && operation.call != plan::kNone &&
                        graph_.calls[operation.call].place() != plan::kNone;
    if (placed && places_[operation.lane].size() == 1) {
      names.erase(names.begin());
    }
    if (simulation_.executions > 1) {
      for (std::string& name : names) name += fmt::format(" #{}", bar.execution);
    }
    return names;
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
      // Bars that stand close together are all border.
      constexpr double kRoom = 3;
      const bool roomy =
          axis_.X(bars[end - 1].end) - axis_.X(bars[i].start) >= kRoom ||
          ((i == 0 || axis_.X(bars[i].start) - axis_.X(bars[i - 1].end) >= kRoom) &&
           (end == bars.size() || axis_.X(bars[end].start) - axis_.X(bars[end - 1].end) >= kRoom));
      AddBar(bars[i], bars[end - 1], end - i, roomy, y);
      i = end;
    }
  }

  std::string FamilyOf(const Bar& bar) const {
    return OperationFamily(plan_, graph_, operations_.all[bar.operation]);
  }

  // Whether all from `first` to `last` is less than a pixel, and of one colour.
  bool AreNarrow(const Bar& first, const Bar& last) const {
    return axis_.X(last.end) - axis_.X(first.start) < 1 && FamilyOf(first) == FamilyOf(last);
  }

  std::string BarRect(uint64_t from, uint64_t to, double y, const std::string& style) const {
    const double x = axis_.X(from);
    return SvgRect(x, y, std::max(axis_.X(to) - x, 0.5), kBar, style);
  }

  // `count` bars from `bar` to `last` as one, with a border if it has room for it.
  void AddBar(const Bar& bar, const Bar& last, size_t count, bool roomy, double y) {
    const std::string color = palette_.ColorOf(FamilyOf(bar));
    std::string told = tooltips_.Tell(operations_.all[bar.operation]);
    const std::string times = fmt::format("{} to {}", TimeText(bar.start), TimeText(last.end));
    told.insert(std::min(told.find('\n'), told.size()),
                (count > 1 ? fmt::format(" and {} more", count - 1) : "") + ": " + times);
    if (simulation_.executions > 1) {
      told += fmt::format("\nexecution {}", bar.execution);
    }
    std::string content;
    if (bar.active > bar.start) {
      waits_for_other_end_ = true;
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

  // The longest of its names that fits, or as much of the shortest as fits; none is better than one
  // that runs into its neighbour.
  std::string NameInside(const Bar& bar, double y) const {
    const double from = axis_.X(bar.active), to = axis_.X(bar.end);
    const auto inside = [&](const std::string& text) {
      return SvgText((from + to) / 2, y + kBar / 2 + 4, text, "text-anchor=\"middle\"");
    };
    const std::vector<std::string> names = NamesOf(bar);
    for (const std::string& name : names) {
      if (TextWidth(name) <= to - from - 4) return inside(name);
    }
    const std::string cut = FittedText(names.back(), to - from - 2);
    return cut.empty() ? "" : inside(cut);
  }

  std::vector<std::pair<std::string, std::string>> Legend() {
    std::vector<std::pair<std::string, std::string>> entries;
    for (const std::string& family : palette_.families()) {
      entries.emplace_back(FilledStyle(palette_.ColorOf(family)), family);
    }
    if (waits_for_other_end_) {
      entries.emplace_back(PaleStyle(kTransferColor),
                           "waits for the other end, or for what it goes through");
    }
    entries.emplace_back(fmt::format("fill=\"{}\" stroke=\"#cccccc\"", kGround), "idle");
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
  const double width_;  // of the page, as it was asked for; 0: nobody did
  TimeAxis axis_{0, 0, 0};
  bool waits_for_other_end_ = false;
  std::string rows_, svg_;  // from back to front
};

}  // namespace

std::string TimelineSvg(const plan::Plan& plan, const plan::Graph& graph,
                        const Simulation& simulation, const DrawOptions& options) {
  return TimelineDrawer(plan, graph, simulation, options).Draw();
}

}  // namespace cgraph
