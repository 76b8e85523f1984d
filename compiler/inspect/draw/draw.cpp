#include "compiler/inspect/draw.h"

#include <memory>
#include <vector>

#include "compiler/inspect/draw/drawings.h"
#include "compiler/inspect/draw/facts/messages.h"
#include "compiler/inspect/draw/formats/external_programs.h"
#include "compiler/inspect/draw/formats/svg.h"
#include "compiler/inspect/draw/formats/viewer.h"
#include "compiler/inspect/simulate.h"
#include "llvm/ADT/StringSwitch.h"
#include "runtime/plan/graph_index.h"

namespace cgraph {
namespace {

bool IsOverTime(Drawing what) { return what == Drawing::kTimeline || what == Drawing::kMemory; }

// ShownPlan: a plan as drawings show it, messages as messages.
class ShownPlan {
 public:
  ShownPlan(const plan::Plan& plan, uint32_t graph)
      : copy_(WithMessages(plan, graph)), plan_(copy_ ? *copy_ : plan), number_(graph) {}
  const plan::Plan& plan() const { return plan_; }
  const plan::Graph& graph() const { return plan::GraphAt(plan_, number_); }

 private:
  const std::unique_ptr<plan::Plan> copy_;
  const plan::Plan& plan_;
  const uint32_t number_;
};

Result<std::string> DrawOverTime(const plan::Plan& plan, uint32_t graph,
                                 const DrawOptions& options) {
  const ShownPlan shown(plan, graph);
  const bool memory = options.what == Drawing::kMemory;
  if (!memory && options.measured != nullptr) {
    return TimelineSvg(shown.plan(), shown.graph(), *options.measured, options);
  }
  const Simulation simulation = Simulate(plan, graph,
                                         {.profile = options.profile,
                                          .topology = options.topology,
                                          .executions = memory ? 1 : options.executions,
                                          .workers = options.workers,
                                          .cores = options.cores,
                                          .instants = memory});
  if (simulation.deadlocks()) {
    std::string message =
        "the plan deadlocks, so there is no time to draw; these lanes wait for ever:";
    for (const std::string& line : simulation.stuck) {
      message += "\n  " + line;
    }
    return Status{StatusCode::kInvalid, message};
  }
  return memory ? MemorySvg(shown.plan(), shown.graph(), simulation, options)
                : TimelineSvg(shown.plan(), shown.graph(), simulation, options);
}

std::string DrawDot(const plan::Plan& plan, uint32_t graph, const DrawOptions& options) {
  const ShownPlan shown(plan, graph);
  switch (options.what) {
    case Drawing::kGraph: return GraphDot(shown.plan(), shown.graph(), options);
    case Drawing::kTransports: return TransportsDot(shown.plan(), shown.graph());
    case Drawing::kSchedule: return ScheduleDot(shown.plan(), shown.graph(), options);
    case Drawing::kTimeline: case Drawing::kMemory: break;  // see DrawOverTime
  }
  return "";
}

Result<std::string> DrawSvg(const plan::Plan& plan, uint32_t graph, const DrawOptions& options) {
  if (IsOverTime(options.what)) return DrawOverTime(plan, graph, options);
  Result<std::string> svg = LayOut(DrawDot(plan, graph, options));
  if (svg.ok() && options.width > 0) return SvgOfWidth(*svg, options.width);
  return svg;
}

std::string DrawViewer(const plan::Plan& plan, uint32_t graph, DrawOptions options) {
  std::vector<ViewerPage> pages;
  const Drawing first = options.what;
  for (size_t i = 0; i < std::size(kDrawingNames); ++i) {
    options.what = static_cast<Drawing>(i);
    const Result<std::string> svg = DrawSvg(plan, graph, options);
    pages.push_back(
        {kDrawingNames[i], svg.ok() ? *svg : "", svg.ok() ? "" : svg.status().message()});
  }
  return ViewerHtml(plan::GraphAt(plan, graph).name, kDrawingNames[static_cast<int>(first)], pages);
}

}  // namespace

#define X(id, name) .Case(name, Drawing::id)
std::optional<Drawing> ParseDrawing(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<Drawing>>(name) CGRAPH_DRAWINGS(X).Default(std::nullopt);
}
#undef X

#define X(id, name) .Case(name, ColorBy::id)
std::optional<ColorBy> ParseColorBy(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<ColorBy>>(name) CGRAPH_COLOR_BY(X).Default(std::nullopt);
}
#undef X

#define X(id, name) .Case(name, DrawFormat::id)
std::optional<DrawFormat> ParseFormat(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<DrawFormat>>(name)
      CGRAPH_DRAW_FORMATS(X).Default(std::nullopt);
}
#undef X

Result<std::string> Draw(const plan::Plan& plan, uint32_t graph, const DrawOptions& options) {
  if (options.format == DrawFormat::kHtml) {
    return DrawViewer(plan, graph, options);
  }
  if (options.format == DrawFormat::kDot) {
    if (IsOverTime(options.what)) {
      return Status{StatusCode::kUnsupported,
                    "a picture over time has no dot form; use svg, png, pdf or html"};
    }
    return DrawDot(plan, graph, options);
  }
  Result<std::string> svg = DrawSvg(plan, graph, options);
  if (!svg.ok() || options.format == DrawFormat::kSvg) {
    return svg;
  }
  return Render(*svg, kDrawFormatNames[static_cast<int>(options.format)], options.width > 0);
}

}  // namespace cgraph
