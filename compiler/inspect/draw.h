// Draw: a plan as a picture, for people.
//
//   graph       actors as clusters, calls as nodes, values with type and transport on the edges
//   schedule    per lane its operations in order, both ends of a transfer joined; what moved
//               against program order is red
//   timeline    per lane a row of bars over simulated time, so that idle time is seen
//   transports  devices and places, and what travels between them by what, how many bytes, and why
//   memory      each arena over simulated time, its buffers as boxes
//
// Graph, schedule and transports are made as Graphviz's dot and laid out by its `dot` command, the
// others are SVG of our own; `rsvg-convert` makes PNG and PDF of both. An absent command is a
// status that says so. The viewer is one HTML file with all five.
#ifndef CGRAPH_COMPILER_INSPECT_DRAW_H_
#define CGRAPH_COMPILER_INSPECT_DRAW_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "compiler/cost/profile.h"
#include "llvm/ADT/StringRef.h"
#include "runtime/base/status.h"
#include "runtime/plan/plan.h"

namespace cgraph {

namespace cost {
struct Topology;
}

// The kinds, once: enumerator, name.
#define CGRAPH_DRAWINGS(X)       \
  X(kGraph, "graph")             \
  X(kSchedule, "schedule")       \
  X(kTimeline, "timeline")       \
  X(kTransports, "transports")   \
  X(kMemory, "memory")
#define CGRAPH_DRAW_FORMATS(X) \
  X(kDot, "dot")               \
  X(kSvg, "svg")               \
  X(kPng, "png")               \
  X(kPdf, "pdf")               \
  X(kHtml, "html")

#define CGRAPH_COLOR_BY(X)  \
  X(kMethod, "method")      \
  X(kMicroBatch, "micro-batch")

#define X(id, name) id,
enum class Drawing { CGRAPH_DRAWINGS(X) };
enum class DrawFormat { CGRAPH_DRAW_FORMATS(X) };
enum class ColorBy : uint8_t { CGRAPH_COLOR_BY(X) };
#undef X
#define X(id, name) name,
inline constexpr const char* kDrawingNames[] = {CGRAPH_DRAWINGS(X)};
inline constexpr const char* kDrawFormatNames[] = {CGRAPH_DRAW_FORMATS(X)};
inline constexpr const char* kColorByNames[] = {CGRAPH_COLOR_BY(X)};
#undef X

std::optional<Drawing> ParseDrawing(llvm::StringRef name);
std::optional<DrawFormat> ParseFormat(llvm::StringRef name);
std::optional<ColorBy> ParseColorBy(llvm::StringRef name);

// SourceLines: returns a line of a source file of the plan, or "" when its text is not known.
using SourceLines = std::function<std::string(const std::string& file, uint32_t line)>;

struct Simulation;  // compiler/inspect/simulate.h

struct DrawOptions {
  Drawing what = Drawing::kSchedule;   // in the viewer: what it shows first
  DrawFormat format = DrawFormat::kSvg;
  const Profile* profile = nullptr;  // of times; null: those that the plan expects
  const cost::Topology* topology = nullptr;  // as in SimulateOptions
  const Simulation* measured = nullptr;  // the run that a timeline shows; null: it is simulated
  uint32_t executions = 1;           // in a timeline
  uint32_t workers = 0, cores = 0;   // as in SimulateOptions
  uint32_t first_row = 0;            // of a schedule that is too long for one picture
  ColorBy color_by = ColorBy::kMethod;
  uint32_t width = 0;                // of the page, in pixels; 0: as wide as names need
  SourceLines source;                // told when a reader points at an operation
};

// Returns the bytes of the picture. `graph`: index into the plan's graphs, kNone for the start
// graph; CheckPlan must have accepted the plan. kUnsupported for a picture over time as dot;
// kNotFound when Graphviz or rsvg-convert is missing; kInvalid for a picture over time of a plan
// that deadlocks. The viewer says in its pages what cannot be drawn.
Result<std::string> Draw(const plan::Plan& plan, uint32_t graph, const DrawOptions& options);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_DRAW_H_
