// UpdateStateInPlace: what becomes a state's new value is made where the state lies.
#ifndef CGRAPH_COMPILER_GRAPH_FUSE_UPDATE_STATE_IN_PLACE_H_
#define CGRAPH_COMPILER_GRAPH_FUSE_UPDATE_STATE_IN_PLACE_H_

#include "compiler/graph/graph.h"

namespace cgraph {

// `cache = update_row(cache, row, at)` writes one row, instead of making a second cache and copying
// it over the first; `state w = load(...)` and `= zeros()` need the state's memory alone. A call
// stays atomic: nothing of it may fail once a state is written, so an op that fails commits by
// itself only where it is `inplace`, for such an op looks before it writes. Of the start graph,
// without which nothing runs, any op may.
//
// Runs after Fuse, which leaves elementwise ops that commit their result themselves. Values and ops
// are renumbered.
void UpdateStateInPlace(graph::Module& module);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_GRAPH_FUSE_UPDATE_STATE_IN_PLACE_H_
