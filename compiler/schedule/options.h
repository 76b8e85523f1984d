// What is asked of the scheduler, besides what graphs say.
#ifndef CGRAPH_COMPILER_SCHEDULE_OPTIONS_H_
#define CGRAPH_COMPILER_SCHEDULE_OPTIONS_H_

#include <cstdint>
#include <optional>

#include "compiler/cost/profile.h"
#include "compiler/cost/topology.h"
#include "compiler/schedule/ir.h"

namespace cgraph::schedule {

// What the search for an order is to make small, and how much it may try.
enum class Goal : uint8_t {
  kMakespan,  // from the first start to the last end of all
  kSpan,      // the longest, over the lanes of calls, from a lane's first start to its last end
};

struct SearchOptions {
  Goal goal = Goal::kMakespan;
  uint32_t effort = 2000;  // in 10,000 tasks placed
};

}  // namespace cgraph::schedule

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
