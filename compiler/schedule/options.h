// What is asked of the scheduler, besides what graphs say.
#ifndef CGRAPH_COMPILER_SCHEDULE_OPTIONS_H_
#define CGRAPH_COMPILER_SCHEDULE_OPTIONS_H_

#include <cstdint>
#include <optional>

#include "compiler/cost/profile.h"
#include "compiler/cost/topology.h"
#include "compiler/schedule/ordering/search/search_options.h"
#include "compiler/schedule/ir.h"

namespace cgraph {

struct ScheduleOptions {
  std::optional<bool> overlap;  // --overlap, --no-overlap; absent: what the graph says, else yes
  std::optional<CommLanes> lanes;  // absent: the fewest that make nothing later
  schedule::SearchOptions search;  // of `using auto`
  const Profile* profile = nullptr;  // times of calls; null: estimates
  const cost::Topology* topology = nullptr;  // null: the assumed one
  // What each device but the caller may hold, in bytes, if that is less than what rules or the
  // topology say; nothing: no limit.
  std::optional<int64_t> memory;
};

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_SCHEDULE_OPTIONS_H_
