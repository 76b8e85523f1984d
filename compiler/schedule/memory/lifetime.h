// When the bytes of a buffer are wanted: from its first access to its last, in each lane.
#ifndef CGRAPH_COMPILER_SCHEDULE_MEMORY_LIFETIME_H_
#define CGRAPH_COMPILER_SCHEDULE_MEMORY_LIFETIME_H_

#include <cstdint>
#include <vector>

#include "compiler/schedule/accesses.h"
#include "compiler/schedule/ir.h"

namespace cgraph::schedule {

// A buffer's first and last access in one lane.
struct LaneSpan {
  LaneId lane;
  Access first, last;
  uint32_t first_written, last_written;  // the least and the greatest of its steps
};
using Lifetime = std::vector<LaneSpan>;

Lifetime LifetimeOf(const Schedule& schedule, const std::vector<Access>& accesses);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_MEMORY_LIFETIME_H_
