// Fewer and cheaper ops: ViewReshapes, ShareCopies, HoistChecks, Fuse, UpdateStateInPlace.
#ifndef CGRAPH_COMPILER_GRAPH_FUSE_FUSE_H_
#define CGRAPH_COMPILER_GRAPH_FUSE_FUSE_H_

#include <vector>

#include "compiler/graph/graph.h"

namespace cgraph {

// ViewReshapes: what a call reshapes for itself is read where it lies instead of being copied.
//
// `reshape(x, [n, 9, 64])`, or `permute` that moves only dimensions of 1, becomes a view of x. It
// stays an op where its result leaves the call or x is on another device, and of a state where it
// becomes a state. Runs first: the others know views.
void ViewReshapes(graph::Module& module);

// ShareCopies: what a method or a collective of one participant returns as it was given, or as a
// state that no graph writes, is read where it lies instead of being copied.
//
// Not where the method may fail, which is to take all its results with it; nor what a graph gives
// out, as an output of its own. A call that does nothing but return a state is gone then, unless a
// rule names it. Values, ops and calls are renumbered.
void ShareCopies(graph::Module& module);

// `w = w - rate * g` runs as one kernel that reads w and g and writes w, instead of three that
// write two temporaries besides. What a fused op computes is bit for bit what its ops computed:
// each of its steps rounds as the op did. Results, names of values that remain, and the order of
// what has an effect do not change; values and ops are renumbered.
void Fuse(graph::Module& module);

// Returns whether `result` may lie where operand `at` lies. That operand is a value that this graph
// made, or, of a result that is a state's new value, that state; it has the result's type, and no
// other operand of the op reads its bytes.
bool MayOverwrite(const graph::Graph& graph, const std::vector<graph::Use>& operands, size_t at,
                  const graph::Value& result);

// HoistChecks: what may fail in a call is looked at before anything that the call writes.
//
// A decode step updates its keys, then its values, then takes a slice of both: each may fail, so
// neither cache could be written where it lies (UpdateStateInPlace) before all of them are done.
// But whether they fail depends on a position alone. So an op `look` asks that first, in the words
// of the op it looks for, and that one fails no more.
//
// Only in a call that makes a state's new value before what may fail, and only where all of that
// can be looked at: the extents of what a part is read from, or written to, are known now (those of
// the part may be bounded), what says where it goes is not made by what may itself fail, and no
// effect comes in between. The looks keep the order of what they look for, so that of several
// failures the first is told. Runs before Fuse; ops are renumbered.
void HoistChecks(graph::Module& module);

// UpdateStateInPlace: what becomes a state's new value is made where the state lies.
//
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

#endif  // CGRAPH_COMPILER_GRAPH_FUSE_FUSE_H_
