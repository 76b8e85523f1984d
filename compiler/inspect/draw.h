// Draw: a plan as a picture, for people.
//
//   graph      actors as clusters, calls as nodes, values with type and transport on the edges
//   schedule   per lane its operations in order, both ends of a transfer joined; what moved
//              against program order is red
//   timeline   per lane a row of bars over simulated time, so that idle time is seen
//
// Graph and schedule are made as Graphviz's dot and laid out by its `dot` command, the timeline is
// an SVG of our own, made into a PNG by `rsvg-convert`; an absent command is a status that says so.
#ifndef CGRAPH_COMPILER_INSPECT_DRAW_H_
#define CGRAPH_COMPILER_INSPECT_DRAW_H_

#include <cstdint>
#include <optional>
#include <string>

#include "compiler/cost/profile.h"
#include "llvm/ADT/StringRef.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status.h"

namespace cgraph {

enum class Drawing { kGraph, kSchedule, kTimeline };
enum class DrawFormat { kDot, kSvg, kPng };

std::optional<Drawing> ParseDrawing(llvm::StringRef name);    // "graph", "schedule", "timeline"
std::optional<DrawFormat> ParseFormat(llvm::StringRef name);  // "dot", "svg", "png"

struct DrawOptions {
  Drawing what = Drawing::kSchedule;
  DrawFormat format = DrawFormat::kSvg;
  const Profile* profile = nullptr;  // of a timeline; null: the times that the plan expects
  uint32_t executions = 1;           // in a timeline
};

// The bytes of the picture. `graph`: index into the plan's graphs, kNone for the start graph; the
// plan is one that CheckPlan accepts. kUnsupported for a timeline as dot; kNotFound when Graphviz
// or rsvg-convert is not there; kInvalid for the timeline of a plan that hangs.
Result<std::string> Draw(const plan::Plan& plan, uint32_t graph, const DrawOptions& options);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_DRAW_H_
