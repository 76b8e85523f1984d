// Fuse: a chain of elementwise ops becomes one op, which goes over memory once.
#ifndef CGRAPH_COMPILER_GRAPH_FUSE_FUSE_H_
#define CGRAPH_COMPILER_GRAPH_FUSE_FUSE_H_

#include "compiler/graph/graph.h"

namespace cgraph {

// What one kernel may hold; emit checks that the plan's limits agree.
inline constexpr size_t kMaxFusedSteps = 16;
inline constexpr size_t kMaxFusedOperands = 32;

// `w = w - rate * g` runs as one kernel that reads w and g and writes w, instead of three that
// write two temporaries besides. What a fused op computes is bit for bit what its ops computed:
// each of its steps rounds as the op did. Results, names of values that remain, and the order of
// what has an effect do not change; values and ops are renumbered.
void Fuse(graph::Module& module);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_GRAPH_FUSE_FUSE_H_
