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

  int64_t Offset(graph::StateId state) const;
};
StateLayout LayOutState(const graph::Module& module, graph::InstanceId instance);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_MEMORY_STATE_LAYOUT_H_
