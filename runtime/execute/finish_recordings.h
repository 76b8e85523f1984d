// What is left to do when queues have recorded their segments: a device may take long to make what
// is launched of a recording, and makes several at the same time.
#ifndef CGRAPH_RUNTIME_EXECUTE_FINISH_RECORDINGS_H_
#define CGRAPH_RUNTIME_EXECUTE_FINISH_RECORDINGS_H_

#include <memory>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/load/loaded_graph.h"

namespace cgraph::engine {

// Finishes the recordings of all graphs on a few threads. The error of the first that cannot be.
Status FinishRecordings(const std::vector<std::unique_ptr<LoadedGraph>>& graphs);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_EXECUTE_FINISH_RECORDINGS_H_
