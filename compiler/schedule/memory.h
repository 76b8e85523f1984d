// What lies where: how buffers are aligned, and how an actor's state lies in its block.
#ifndef CGRAPH_COMPILER_SCHEDULE_MEMORY_H_
#define CGRAPH_COMPILER_SCHEDULE_MEMORY_H_

#include <cstdint>
#include <vector>

#include "compiler/graph/graph.h"

namespace cgraph::schedule {

inline constexpr int64_t kAlignment = 64;  // a cache line, and what vector loads like

// The next multiple of it.
inline int64_t Aligned(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// How an actor's state lies in its block, the same in every graph.
struct StateLayout {
  std::vector<graph::StateId> states;
  std::vector<int64_t> offsets;  // by index in `states`
  int64_t bytes = 0;

  int64_t Offset(graph::StateId state) const;
};
StateLayout LayOutState(const graph::Module& module, graph::InstanceId instance);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_MEMORY_H_
