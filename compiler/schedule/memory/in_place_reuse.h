// Taking over: the result of a kernel that works in place gets the buffer of the operand that it
// overwrites, when nobody reads that any more. The two become one buffer, which is how a plan says
// that they share their bytes.
#ifndef CGRAPH_COMPILER_SCHEDULE_MEMORY_IN_PLACE_REUSE_H_
#define CGRAPH_COMPILER_SCHEDULE_MEMORY_IN_PLACE_REUSE_H_

#include <vector>

#include "compiler/schedule/accesses.h"
#include "compiler/schedule/memory/lifetime.h"
#include "compiler/schedule/ir.h"
#include "compiler/schedule/waits/vector_clocks.h"

namespace cgraph::schedule {

// By buffer: who owns its bytes, itself or the one that it takes over. `slots`: the slot buffers by
// their first access; `accesses` and `lifetimes`: by buffer. Owners live as long as their heirs.
std::vector<BufferId> ReuseInPlace(const Schedule& schedule, const graph::Graph& graph,
                               const VectorClocks& clocks, const std::vector<BufferId>& slots,
                               const std::vector<std::vector<Access>>& accesses,
                               std::vector<Lifetime>& lifetimes);

// Every location moves to the owner of its buffer; buffers without locations go.
void MoveToOwners(Schedule& schedule, const std::vector<BufferId>& owners);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_MEMORY_IN_PLACE_REUSE_H_
