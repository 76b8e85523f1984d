// Reuse: the waits by which bytes can be used again on a device whose memory is short.
//
// Lanes drift apart, so a receive could come before the work that reads what lay there is over,
// though by the timetable it does not. On such a device what is first written into a buffer waits
// for whatever has ended by then, and what begins an execution for the end of the one that had the
// same copy of the memory.
#ifndef CGRAPH_COMPILER_SCHEDULE_WAITS_REUSE_H_
#define CGRAPH_COMPILER_SCHEDULE_WAITS_REUSE_H_

#include <vector>

#include "compiler/schedule/dependencies.h"

namespace cgraph::schedule {

// `tight`: by device; empty: none is.
void AddReuse(const graph::Graph& graph, const Schedule& schedule, const std::vector<bool>& tight,
              Dependencies& dependencies);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_WAITS_REUSE_H_
