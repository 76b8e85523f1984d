// Recompute: kept values of a forward call are made again by the calls that `grad` derived of it.
//
// A derived call reads values that its forward call has made, so they take memory from one to the
// other. Where a graph says `recompute`, the ops that make such values are repeated at the head of
// the first derived call that reads them: what is kept are then the forward call's arguments. Ops
// that may fail, that have an effect, or that read a state which was written since are not
// repeated; their results are kept.
#ifndef CGRAPH_COMPILER_GRAPH_RECOMPUTE_H_
#define CGRAPH_COMPILER_GRAPH_RECOMPUTE_H_

#include "compiler/graph/graph.h"

namespace cgraph {

// Repeats what calls with `recompute` have made, in all graphs. Comes before Rewrite: fusion then
// sees repeated ops as any others.
void Recompute(graph::Module& module);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_GRAPH_RECOMPUTE_H_
