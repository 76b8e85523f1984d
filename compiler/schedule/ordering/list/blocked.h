// When simulated time has no next event: which calls could start, and what holds each back.
#ifndef CGRAPH_COMPILER_SCHEDULE_ORDERING_LIST_BLOCKED_H_
#define CGRAPH_COMPILER_SCHEDULE_ORDERING_LIST_BLOCKED_H_

#include "compiler/base/diagnostics/diagnostics.h"
#include "compiler/schedule/ordering/tasks/task_maker.h"

namespace cgraph::schedule {

// `table` lacks some of the tasks, and the graph has rules.
void ReportBlocked(const graph::Module& module, const graph::Graph& graph,
                   const Schedule& schedule, const TaskList& list, const Timetable& table,
                   Diagnostics& diagnostics);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_ORDERING_LIST_BLOCKED_H_
