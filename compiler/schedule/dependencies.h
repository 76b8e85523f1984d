// Dependencies: what must be done before what, whatever order is chosen for the rest.
//
// Two accesses to the same bytes, one of them a write, keep the order of the program; so do two
// calls of which one is `after` the other, what has effects on one device, and what stands on
// either side of a barrier. A dependency that follows from others is not listed.
#ifndef CGRAPH_COMPILER_SCHEDULE_DEPENDENCIES_H_
#define CGRAPH_COMPILER_SCHEDULE_DEPENDENCIES_H_

#include <vector>

#include "compiler/schedule/ir.h"

namespace cgraph::schedule {

// By unit, those that must be done before it starts: of the same execution, and of the execution
// `lag` before, with which it shares memory or whose effects come first. Units of one lane are
// listed too.
struct Dependencies {
  std::vector<std::vector<UnitId>> within;
  std::vector<std::vector<Wait>> across;
};

// An execution meets the units in any order that keeps the dependencies, such as the program's.
Dependencies FindDependencies(const graph::Graph& graph, const Schedule& schedule);

// Reuse: the waits by which bytes can be used again on a device whose memory is short.
//
// Lanes drift apart, so a receive could come before the work that reads what lay there is over,
// though by the timetable it does not. On such a device what is first written into a buffer waits
// for whatever has ended by then, and what begins an execution for the end of the one that had the
// same copy of the memory. `tight`: by device; empty: none is.
void AddReuse(const graph::Graph& graph, const Schedule& schedule, const std::vector<bool>& tight,
              Dependencies& dependencies);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_DEPENDENCIES_H_
