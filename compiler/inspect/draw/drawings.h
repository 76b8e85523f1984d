// The three drawings, before any other program has touched them.
#ifndef CGRAPH_COMPILER_INSPECT_DRAW_DRAWINGS_H_
#define CGRAPH_COMPILER_INSPECT_DRAW_DRAWINGS_H_

#include <cstdint>
#include <string>

#include "compiler/inspect/simulate.h"
#include "runtime/plan/plan.h"

namespace cgraph {

std::string GraphDot(const plan::Plan& plan, const plan::Graph& graph);
std::string ScheduleDot(const plan::Plan& plan, const plan::Graph& graph);
// `graph`: as of Simulate; the simulation does not hang.
std::string TimelineSvg(const plan::Plan& plan, uint32_t graph, const Simulation& simulation);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_DRAW_DRAWINGS_H_
