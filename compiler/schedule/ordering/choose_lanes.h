// How many lanes a device has for what it exchanges with others, when nobody says: the fewest with
// which nothing ends later.
//
// More lanes cost a machine more to keep going, and each of NCCL's needs a communicator, so one is
// taken unless something in the graph's timetable waits for that lane. If so, and the graph is not
// so large that looking would take long, it is list-scheduled with each, and the one that ends
// first wins; of equal ones that with fewer lanes. Where the order is searched for, too, each is
// searched with an eighth of the effort. Of several executions in flight what counts is
// when the last of many ends: one lane for all lets no device receive for the next execution before
// it has sent what belongs to this one. So many lanes that the plan could not be proved are never
// taken: of each instruction a proof keeps a number for every lane.
#ifndef CGRAPH_COMPILER_SCHEDULE_ORDERING_CHOOSE_LANES_H_
#define CGRAPH_COMPILER_SCHEDULE_ORDERING_CHOOSE_LANES_H_

#include <functional>

#include "compiler/schedule/options.h"

namespace cgraph::schedule {

// `prepare` gives the schedule in program order with these lanes. Returns the one with the lanes
// that are chosen; when a search found an order for it, its steps say when they start in that.
Schedule ChooseLanes(const graph::Graph& graph, const ScheduleOptions& options,
                     const std::function<Schedule(CommLanes)>& prepare);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_ORDERING_CHOOSE_LANES_H_
