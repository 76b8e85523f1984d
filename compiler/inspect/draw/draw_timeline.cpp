// The timeline: one row per lane, time to the right, a bar where the lane is at work. A transfer's
// end that is ready before the other is pale until both are.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "compiler/inspect/draw/drawings.h"
#include "compiler/inspect/draw/operations.h"
#include "compiler/inspect/draw/palette.h"
#include "compiler/inspect/draw/text.h"
#include "compiler/inspect/report.h"
#include "runtime/plan/print.h"

namespace cgraph {
namespace {

constexpr double kFont = 11;
constexpr double kCharacter = 6.4;  // width of one, on average, at that size
constexpr double kRow = 26, kBar = 20, kTop = 44, kAxis = 26, kMargin = 16, kGap = 8;
constexpr double kLeastWidth = 700, kMostWidth = 3000;

double TextWidth(const std::string& text) { return kCharacter * static_cast<double>(text.size()); }

struct Bar {
  uint32_t operation;
  uint32_t execution;
  uint64_t start, active, end;
};

class TimelineDrawer {
 public:
  TimelineDrawer(const plan::Plan& plan, const plan::Graph& graph, const Simulation& simulation)
      : plan_(plan), graph_(graph), simulation_(simulation), operations_(FindOperations(graph)),
        bars_(graph.programs.size()), places_(graph.programs.size()) {
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
    double y = kTop;
    uint32_t device = plan::kNone;
    for (uint32_t lane = 0; lane < bars_.size(); ++lane) {
      if (bars_[lane].empty()) {
        continue;
      }
      if (device != plan::kNone && device != plan_.lanes[lane].device()) {
        y += kGap;
      }
      device = plan_.lanes[lane].device();
      AddRow(lane, y);
      y += kRow;
    }
    AddAxis(y);
    AddLegend(y + kAxis + 14);
    return Frame(y + kAxis + 14 + 30);
  }

 private:
  double X(uint64_t time) const {
    const double share = simulation_.makespan == 0
                             ? 0
                             : static_cast<double>(time) / static_cast<double>(simulation_.makespan);
    return left_ + share * width_;
  }

  // The instructions of one operation in one execution are one bar.
  void CollectBars() {
    for (const SimulatedEvent& event : simulation_.events) {
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
    for (uint32_t lane = 0; lane < bars_.size(); ++lane) {
      if (!bars_[lane].empty()) {
        left_ = std::max(left_, kMargin + TextWidth(plan::LaneName(plan_, lane)) + 12);
      }
    }
    std::vector<double> wanted;
    for (const auto& bars : bars_) {
      for (const Bar& bar : bars) {
        const std::vector<std::string> names = NamesOf(bar);
        const double share = static_cast<double>(bar.end - bar.active) /
                             static_cast<double>(simulation_.makespan);
        if (share > 0) {
          wanted.push_back((TextWidth(names.front()) + 8) / share);
        }
      }
    }
    std::sort(wanted.begin(), wanted.end());
    if (!wanted.empty()) {
      width_ = std::clamp(wanted[wanted.size() / 2], kLeastWidth, kMostWidth);
    }
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
    return names;
  }

  void AddRow(uint32_t lane, double y) {
    svg_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                        left_ - 8, y + kBar / 2 + 4, XmlText(plan::LaneName(plan_, lane)));
    rows_ += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" fill=\"#f3f3f3\"/>\n",
        left_, y, width_, kBar);
    for (const Bar& bar : bars_[lane]) {
      AddBar(bar, y);
    }
  }

  void AddRect(uint64_t from, uint64_t to, double y, const std::string& style) {
    svg_ += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\" {}/>\n", X(from), y,
        std::max(X(to) - X(from), 0.5), kBar, style);
  }

  void AddBar(const Bar& bar, double y) {
    const Operation& operation = operations_.all[bar.operation];
    const std::string color = palette_.ColorOf(OperationFamily(plan_, graph_, operation));
    std::string title = fmt::format("{}: {} to {}", OperationName(plan_, graph_, operation),
                                    TimeText(bar.start), TimeText(bar.end));
    if (simulation_.executions > 1) {
      title += fmt::format(", execution {}", bar.execution);
    }
    svg_ += fmt::format("<g><title>{}</title>\n", XmlText(title));
    if (bar.active > bar.start) {
      waits_for_other_end_ = true;
      AddRect(bar.start, bar.active, y,
              fmt::format("fill=\"{}\" fill-opacity=\"0.35\"", color));
    }
    if (bar.end > bar.active) {
      AddRect(bar.active, bar.end, y,
              fmt::format("fill=\"{}\" stroke=\"#666666\" stroke-width=\"0.6\"", color));
      AddName(bar, y);
    }
    svg_ += "</g>\n";
  }

  // The longest of its names that fits; none is better than one that runs into its neighbour.
  void AddName(const Bar& bar, double y) {
    const double room = X(bar.end) - X(bar.active) - 4;
    for (const std::string& name : NamesOf(bar)) {
      if (TextWidth(name) <= room) {
        svg_ += fmt::format("<text x=\"{:.2f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                            (X(bar.active) + X(bar.end)) / 2, y + kBar / 2 + 4, XmlText(name));
        return;
      }
    }
  }

  // Ticks at 1, 2 or 5 times a power of ten, as many as their labels leave room for.
  void AddAxis(double y) {
    const double most = std::max(2.0, width_ / 90);
    uint64_t step = 1;
    for (uint64_t power = 1; static_cast<double>(simulation_.makespan) / static_cast<double>(step) >
                             most;) {
      for (uint64_t times : {2, 5, 10}) {
        step = power * times;
        if (static_cast<double>(simulation_.makespan) / static_cast<double>(step) <= most) break;
      }
      power *= 10;
    }
    for (uint64_t tick = 0; tick <= simulation_.makespan / step; ++tick) {
      const uint64_t time = tick * step;
      grid_ += fmt::format(
          "<line x1=\"{0:.2f}\" y1=\"{1}\" x2=\"{0:.2f}\" y2=\"{2:.1f}\" stroke=\"#cccccc\" "
          "stroke-dasharray=\"2,3\"/>\n"
          "<text x=\"{0:.2f}\" y=\"{3:.1f}\" text-anchor=\"middle\" fill=\"{4}\">{5}</text>\n",
          X(time), kTop - 6, y, y + 16, kFaint, TimeText(time));
    }
  }

  void AddLegend(double y) {
    double x = left_;
    const auto add = [&](const std::string& text, const std::string& style) {
      svg_ += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"12\" height=\"12\" {}/>\n"
          "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
          x, y, style, x + 17, y + 10, XmlText(text));
      x += 17 + TextWidth(text) + 18;
    };
    for (const std::string& family : palette_.families()) {
      add(family, fmt::format("fill=\"{}\" stroke=\"#666666\" stroke-width=\"0.6\"",
                              palette_.ColorOf(family)));
    }
    if (waits_for_other_end_) {
      add("waits for the other end", fmt::format("fill=\"{}\" fill-opacity=\"0.35\"",
                                                 kTransferColor));
    }
    add("idle", "fill=\"#f3f3f3\" stroke=\"#cccccc\" stroke-width=\"0.6\"");
    legend_end_ = x;
  }

  std::string Frame(double height) const {
    const std::string title =
        fmt::format("{}: makespan {}, lower bound {}, bubble {:.1f} %", graph_.name,
                    TimeText(simulation_.makespan), TimeText(simulation_.lower_bound()),
                    100 * simulation_.bubble());
    const double width = std::max({left_ + width_ + 60, legend_end_ + kMargin,
                                   kMargin + 8.0 * static_cast<double>(title.size())});
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
               "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"Helvetica, Arial, sans-serif\" "
               "font-size=\"{2}\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
               "<text x=\"{3}\" y=\"24\" font-size=\"15\">{4}</text>\n",
               width, height, kFont, kMargin, XmlText(title)) +
           rows_ + grid_ + svg_ + "</svg>\n";
  }

  const plan::Plan& plan_;
  const plan::Graph& graph_;
  const Simulation& simulation_;
  const Operations operations_;
  std::vector<std::vector<Bar>> bars_;    // by lane
  std::vector<std::set<uint32_t>> places_;  // by lane: whose calls run on it
  Palette palette_;
  double left_ = 0;
  double width_ = kLeastWidth;
  double legend_end_ = 0;
  bool waits_for_other_end_ = false;
  std::string rows_, grid_, svg_;  // from back to front
};

}  // namespace

std::string TimelineSvg(const plan::Plan& plan, uint32_t graph_index,
                        const Simulation& simulation) {
  const plan::Graph& graph =
      graph_index == plan::kNone ? *plan.start : *plan.graphs[graph_index];
  return TimelineDrawer(plan, graph, simulation).Draw();
}

}  // namespace cgraph
