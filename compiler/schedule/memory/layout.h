// How bytes are laid out, whatever the order: alignment, and the states of an actor.
#ifndef CGRAPH_COMPILER_SCHEDULE_MEMORY_LAYOUT_H_
#define CGRAPH_COMPILER_SCHEDULE_MEMORY_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "compiler/graph/graph.h"

namespace cgraph::schedule {

// How buffers are aligned: every offset and every room taken is a multiple of it.
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
};
StateLayout LayOutState(const graph::Module& module, graph::InstanceId instance);

// By state: where it lies in its actor's block.
std::vector<int64_t> StateOffsets(const graph::Module& module);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_MEMORY_LAYOUT_H_
