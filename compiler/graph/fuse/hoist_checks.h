// HoistChecks: what may fail in a call is looked at before anything that the call writes.
#ifndef CGRAPH_COMPILER_GRAPH_FUSE_HOIST_CHECKS_H_
#define CGRAPH_COMPILER_GRAPH_FUSE_HOIST_CHECKS_H_

#include "compiler/graph/graph.h"

namespace cgraph {

// A decode step updates its keys, then its values, then takes a slice of both: each may fail, so
// neither cache could be written where it lies (UpdateStateInPlace) before all of them are done.
// But whether they fail depends on a position alone. So an op `look` asks that first, in the words
// of the op it looks for, and that one fails no more.
//
// Only in a call that makes a state's new value before what may fail, and only where all of that
// can be looked at: its extents are known now, what says where it goes is not made by what may
// itself fail, and no effect comes in between. The looks keep the order of what they look for, so
// that of several failures the first is told. Runs before Fuse; ops are renumbered.
void HoistChecks(graph::Module& module);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_GRAPH_FUSE_HOIST_CHECKS_H_
