// The five drawings, before any other program has touched them.
#ifndef CGRAPH_COMPILER_INSPECT_DRAW_DRAWINGS_H_
#define CGRAPH_COMPILER_INSPECT_DRAW_DRAWINGS_H_

#include <cstddef>
#include <string>

#include "compiler/inspect/draw.h"
#include "compiler/inspect/simulate.h"
#include "runtime/plan/plan.h"

namespace cgraph {

// Returns how many of `all` things a drawing shows that is meant for `limit`. A tenth over it is
// shown as well, so that few things are not left out of a picture that could hold them.
inline size_t ShownOf(size_t all, size_t limit) {
  return all <= limit + limit / 10 ? all : limit;
}

std::string GraphDot(const plan::Plan& plan, const plan::Graph& graph, const DrawOptions& options);
std::string ScheduleDot(const plan::Plan& plan, const plan::Graph& graph,
                        const DrawOptions& options);
std::string TransportsDot(const plan::Plan& plan, const plan::Graph& graph);
// The simulation is one of the graph, and does not deadlock.
std::string TimelineSvg(const plan::Plan& plan, const plan::Graph& graph,
                        const Simulation& simulation, const DrawOptions& options);
// The simulation has instants, and is of one execution.
std::string MemorySvg(const plan::Plan& plan, const plan::Graph& graph,
                      const Simulation& simulation, const DrawOptions& options);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_DRAW_DRAWINGS_H_
