// Prepare: turns a graph of a plan into the programs that work queues run.
//
// Everything that can be decided before the first execution is decided here: what each work queue
// runs and in which order, which waits are left, which poison flags are checked, which kernel
// object runs, and every address.
#ifndef CGRAPH_RUNTIME_LOAD_PREPARE_H_
#define CGRAPH_RUNTIME_LOAD_PREPARE_H_

#include <cstdint>

#include "runtime/base/status.h"
#include "runtime/load/loaded_graph.h"
#include "runtime/load/preparation.h"

namespace cgraph::engine {

// Fills `graph` (graphs[index]), whose plan, frames, inflight, lag and depth must be set.
Status PrepareGraph(const Preparation& preparation, uint32_t index, LoadedGraph& graph);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_PREPARE_H_
