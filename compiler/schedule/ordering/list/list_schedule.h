// The list schedule: tasks in simulated time, each as soon as it can, of several the one that is
// preferred.
#ifndef CGRAPH_COMPILER_SCHEDULE_ORDERING_LIST_LIST_SCHEDULE_H_
#define CGRAPH_COMPILER_SCHEDULE_ORDERING_LIST_LIST_SCHEDULE_H_

#include "compiler/schedule/ordering/tasks/tasks.h"

namespace cgraph::schedule {

// Whenever lanes are free, starts the task of least rank among those that are ready and not held
// back, by the policy, because memory would not do, now or for what is left, or because what it
// goes through is in use; it never waits for a better one. While only memory holds back some task
// of a lane, no `at_least` limit holds there; and nowhere while nothing else can start.
Timetable ListSchedule(const Tasks& tasks, const Policy& policy);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_ORDERING_LIST_LIST_SCHEDULE_H_
