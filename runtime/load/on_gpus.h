// What of a graph's inputs and results may lie in memory of GPUs that the program uses, too
// (device/shared_gpu.h).
#ifndef CGRAPH_RUNTIME_LOAD_ON_GPUS_H_
#define CGRAPH_RUNTIME_LOAD_ON_GPUS_H_

#include <memory>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/load/loaded_graph.h"
#include "runtime/plan/graph_index.h"

namespace cgraph::engine {

// Finds the inputs that only copies to GPUs of this process read, in `graph.inputs`, which must be
// described.
void FindInputsOfGpus(const plan::GraphIndex& index,
                      const std::vector<std::unique_ptr<device::Device>>& devices,
                      LoadedGraph& graph);

// Lets results that a GPU of this process copies to the caller stay in memory of that GPU: the copy
// goes to a block there. `graph` must be laid out. A result that anything else touches is left.
void KeepResultsOnGpus(const plan::GraphIndex& index,
                       const std::vector<std::unique_ptr<device::Device>>& devices,
                       LoadedGraph& graph);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_ON_GPUS_H_
