// Marks what a GPU launches as one: runs of calls on a compute lane that nothing interrupts.
//
// A device that can do so records a run once per frame (a CUDA graph) and launches it with one
// call. A run starts when its first call could and is over when its last one is, so it adds no wait
// to the plan. Calls whose extents the inputs give stay outside: they are launched at their
// extents. So do calls on memory that is another one in each execution, and of native code, which
// is called for each execution.
#ifndef CGRAPH_COMPILER_EMIT_MARK_CAPTURES_H_
#define CGRAPH_COMPILER_EMIT_MARK_CAPTURES_H_

#include "runtime/plan/plan.h"

namespace cgraph::emit {

// Sets the flag "may be captured" and the captures of one graph.
void MarkCaptures(const plan::Plan& plan, plan::Graph& graph);

}  // namespace cgraph::emit

#endif  // CGRAPH_COMPILER_EMIT_MARK_CAPTURES_H_
