// What is told about a thing in a drawing to whoever points at it: more than fits into a label.
#ifndef CGRAPH_COMPILER_INSPECT_DRAW_FACTS_TOOLTIP_WRITER_H_
#define CGRAPH_COMPILER_INSPECT_DRAW_FACTS_TOOLTIP_WRITER_H_

#include <string>

#include "compiler/inspect/draw.h"
#include "compiler/inspect/draw/facts/operations.h"
#include "runtime/plan/plan.h"

namespace cgraph {

class TooltipWriter {
 public:
  TooltipWriter(const plan::Plan& plan, const plan::Graph& graph, const SourceLines& source)
      : plan_(plan), graph_(graph), source_(source) {}

  // Name, lane, kernels, and the line of the source that asked for it; several lines.
  std::string Tell(const Operation& operation) const;
  // "h: f32[2, 8], 64 B".
  std::string TellValue(uint32_t value) const;
  // "a.cgraph:3:5" and below it the line itself; each preceded by a line end; "" for no call.
  std::string TellSite(uint32_t call) const;

 private:
  const plan::Plan& plan_;
  const plan::Graph& graph_;
  const SourceLines& source_;
};

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_DRAW_FACTS_TOOLTIP_WRITER_H_
