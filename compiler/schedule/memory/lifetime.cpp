#include "compiler/schedule/memory/lifetime.h"

#include <algorithm>

namespace cgraph::schedule {

Lifetime LifetimeOf(const Schedule& schedule, const std::vector<Access>& accesses) {
  Lifetime lifetime;
  for (const Access& access : accesses) {
    const LaneId lane = schedule.units[access.unit].lane;
    const uint32_t program_order = schedule.steps[access.step].program_order;
    const auto span = std::find_if(lifetime.begin(), lifetime.end(),
                                   [&](const LaneSpan& s) { return s.lane == lane; });
    if (span == lifetime.end()) {
      lifetime.push_back({lane, access, access, program_order, program_order});
    } else {
      span->last = access;
      span->first_in_program = std::min(span->first_in_program, program_order);
      span->last_in_program = std::max(span->last_in_program, program_order);
    }
  }
  return lifetime;
}

}  // namespace cgraph::schedule
