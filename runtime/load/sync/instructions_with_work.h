// The instructions of a graph that have work: anything to do besides signalling and waiting. An
// input or output has some only where an extent is made that submission cannot make, a size is
// known when methods have run, or the result has to be brought to the output block.
#ifndef CGRAPH_RUNTIME_LOAD_SYNC_INSTRUCTIONS_WITH_WORK_H_
#define CGRAPH_RUNTIME_LOAD_SYNC_INSTRUCTIONS_WITH_WORK_H_

#include <cstdint>
#include <vector>

#include "runtime/plan/graph_index.h"

namespace cgraph::engine {

inline constexpr uint32_t kNoDepth = UINT32_MAX;

// By instruction. `depth`: as LoadedGraph's; kNoDepth where the plan is not proved, and submission
// makes nothing.
std::vector<bool> FindInstructionsWithWork(const plan::GraphIndex& index, uint32_t depth);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_SYNC_INSTRUCTIONS_WITH_WORK_H_
