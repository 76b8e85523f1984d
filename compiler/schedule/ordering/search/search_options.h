// What the search for an order is to make small, and how much it may try.
#ifndef CGRAPH_COMPILER_SCHEDULE_ORDERING_SEARCH_SEARCH_OPTIONS_H_
#define CGRAPH_COMPILER_SCHEDULE_ORDERING_SEARCH_SEARCH_OPTIONS_H_

#include <cstdint>

namespace cgraph::schedule {

enum class Goal : uint8_t {
  kMakespan,  // from the first start to the last end of all
  kSpan,      // the longest, over the lanes of calls, from a lane's first start to its last end
};

struct SearchOptions {
  Goal goal = Goal::kMakespan;
  uint32_t effort = 2000;  // in 10,000 tasks placed
};

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_ORDERING_SEARCH_SEARCH_OPTIONS_H_
