// When the bytes of a buffer are wanted: from its first access to its last, in each lane.
#ifndef CGRAPH_COMPILER_SCHEDULE_MEMORY_LIFETIME_H_
#define CGRAPH_COMPILER_SCHEDULE_MEMORY_LIFETIME_H_

#include <cstdint>
#include <vector>

#include "compiler/schedule/accesses.h"
#include "compiler/schedule/ir.h"
#include "compiler/schedule/waits/vector_clocks.h"

namespace cgraph::schedule {

// A buffer's first and last access in one lane.
struct LaneSpan {
  LaneId lane;
  Access first, last;
  uint32_t first_in_program, last_in_program;  // the least and the greatest of its steps
};
using Lifetime = std::vector<LaneSpan>;

Lifetime LifetimeOf(const Schedule& schedule, const std::vector<Access>& accesses);

// Taking over: the result of a kernel that works in place gets the buffer of the operand that it
// overwrites, when nobody reads that any more. The two become one buffer, which is how a plan says
// that they share their bytes.
//
// By buffer: who owns its bytes, itself or the one that it takes over. `slots`: the slot buffers by
// their first access; `accesses` and `lifetimes`: by buffer. Owners live as long as their heirs.
std::vector<BufferId> ReuseInPlace(const Schedule& schedule, const graph::Graph& graph,
                                   const VectorClocks& clocks, const std::vector<BufferId>& slots,
                                   const std::vector<std::vector<Access>>& accesses,
                                   std::vector<Lifetime>& lifetimes);

// Every location moves to the owner of its buffer; buffers without locations go.
void MoveToOwners(Schedule& schedule, const std::vector<BufferId>& owners);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_MEMORY_LIFETIME_H_
