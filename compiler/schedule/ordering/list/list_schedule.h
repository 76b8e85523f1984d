// Orders of tasks that are made in one go, by rules or by what there is room for.
#ifndef CGRAPH_COMPILER_SCHEDULE_ORDERING_LIST_LIST_SCHEDULE_H_
#define CGRAPH_COMPILER_SCHEDULE_ORDERING_LIST_LIST_SCHEDULE_H_

#include <vector>

#include "compiler/base/diagnostics/diagnostics.h"
#include "compiler/schedule/ordering/tasks/task_maker.h"
#include "compiler/schedule/ordering/tasks/tasks.h"

namespace cgraph::schedule {

// The list schedule: tasks in simulated time, each as soon as it can, of several the one that is
// preferred.
//
// Whenever lanes are free, starts the task of least rank among those that are ready and not held
// back, by the policy, because memory would not do, now or for what is left, or because what it
// goes through is in use; it never waits for a better one. While only memory holds back some task
// of a lane, no `at_least` limit holds there; and nowhere while nothing else can start.
Timetable ListSchedule(const Tasks& tasks, const Policy& policy);

// Fallback: an order of all tasks, one after the other, that needs little memory.
//
// Whatever runs at once can also run one after the other in no more memory, so tasks fit into
// memories exactly when some such order does. To find the one that needs least is hard; the orders
// tried here are the program's, the one in which what is made is used up first, and the one that
// grows least at each step; of few tasks, when these do not fit, all orders within some effort.
struct Fallback {
  std::vector<uint32_t> order;  // empty: none was found that the policy's limits let end
  std::vector<int64_t> needs;   // by memory: the most bytes alive at once
};

// One that fits into the memories of `tasks`, or the one that exceeds them least.
Fallback FindFallback(const Tasks& tasks, const Policy& policy);

// When simulated time has no next event: which calls could start, and what holds each back.
// `table` lacks some of the tasks, and the graph has rules.
void ReportBlocked(const graph::Module& module, const graph::Graph& graph,
                   const Schedule& schedule, const TaskList& list, const Timetable& table,
                   Diagnostics& diagnostics);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_ORDERING_LIST_LIST_SCHEDULE_H_
