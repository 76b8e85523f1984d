// How the plan numbers what its graphs share.
#ifndef CGRAPH_COMPILER_EMIT_PLAN_NUMBERS_H_
#define CGRAPH_COMPILER_EMIT_PLAN_NUMBERS_H_

#include <cstdint>
#include <vector>

namespace cgraph::emit {

struct PlanNumbers {
  std::vector<uint32_t> lanes;          // by the schedule's lane
  uint32_t plan_lanes = 0;              // of the whole plan
  std::vector<uint32_t> groups;         // communicators, by group
  std::vector<uint32_t> communicators;  // by channel; kNone of those that are not nccl's
};

}  // namespace cgraph::emit

#endif  // CGRAPH_COMPILER_EMIT_PLAN_NUMBERS_H_
