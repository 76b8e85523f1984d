#include "compiler/inspect/draw.h"

#include "compiler/inspect/draw/commands.h"
#include "compiler/inspect/draw/drawings.h"
#include "compiler/inspect/simulate.h"
#include "llvm/ADT/StringSwitch.h"

namespace cgraph {
namespace {

Result<std::string> DrawTimeline(const plan::Plan& plan, uint32_t graph,
                                 const DrawOptions& options) {
  if (options.format == DrawFormat::kDot) {
    return Status{StatusCode::kUnsupported,
                  "a timeline has no dot form: it is a picture over time; use svg or png"};
  }
  const Simulation simulation =
      Simulate(plan, graph, {.profile = options.profile, .executions = options.executions});
  if (simulation.hangs()) {
    std::string message = "the plan hangs, so it has no timeline; these lanes wait for ever:";
    for (const std::string& line : simulation.stuck) {
      message += "\n  " + line;
    }
    return Status{StatusCode::kInvalid, message};
  }
  const std::string svg = TimelineSvg(plan, graph, simulation);
  return options.format == DrawFormat::kSvg ? Result<std::string>(svg) : SvgToPng(svg);
}

}  // namespace

std::optional<Drawing> ParseDrawing(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<Drawing>>(name)
      .Case("graph", Drawing::kGraph)
      .Case("schedule", Drawing::kSchedule)
      .Case("timeline", Drawing::kTimeline)
      .Default(std::nullopt);
}

std::optional<DrawFormat> ParseFormat(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<DrawFormat>>(name)
      .Case("dot", DrawFormat::kDot)
      .Case("svg", DrawFormat::kSvg)
      .Case("png", DrawFormat::kPng)
      .Default(std::nullopt);
}

Result<std::string> Draw(const plan::Plan& plan, uint32_t graph_index,
                         const DrawOptions& options) {
  if (options.what == Drawing::kTimeline) {
    return DrawTimeline(plan, graph_index, options);
  }
  const plan::Graph& graph =
      graph_index == plan::kNone ? *plan.start : *plan.graphs[graph_index];
  const std::string dot =
      options.what == Drawing::kGraph ? GraphDot(plan, graph) : ScheduleDot(plan, graph);
  switch (options.format) {
    case DrawFormat::kDot: return dot;
    case DrawFormat::kSvg: return LayOut(dot, "svg");
    case DrawFormat::kPng: return LayOut(dot, "png");
  }
  return dot;
}

}  // namespace cgraph
