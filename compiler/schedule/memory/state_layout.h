// How an actor's state lies in its block, the same in every graph.
#ifndef CGRAPH_COMPILER_SCHEDULE_MEMORY_STATE_LAYOUT_H_
#define CGRAPH_COMPILER_SCHEDULE_MEMORY_STATE_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "compiler/graph/graph.h"

namespace cgraph::schedule {

struct StateLayout {
  std::vector<graph::StateId> states;
  std::vector<int64_t> offsets;  // by index in `states`
  int64_t bytes = 0;
};
StateLayout LayOutState(const graph::Module& module, graph::InstanceId instance);

// By state: where it lies in its actor's block.
std::vector<int64_t> StateOffsets(const graph::Module& module);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_MEMORY_STATE_LAYOUT_H_
