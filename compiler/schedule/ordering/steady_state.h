// A steady state: what the lanes repeat when executions follow one another.
//
// The order that is best for one execution, repeated, leaves a device waiting wherever one
// execution makes it wait, though there would be work for the next. So the tasks of an execution
// are spread over rounds. Every `period` a round begins, in which each task happens once, for the
// execution that began as many rounds before as the task's lag says. The field calls it modulo
// scheduling (Rau and Glaeser, MICRO 1981; Lam, PLDI 1988; Rau, MICRO 1994), the period the
// initiation interval and the lag the stage.
//
// No period is shorter than what the busiest lane, or resource, has to do in a round, nor than the
// longest path of an execution divided by how many may be in flight. Some periods between that and
// what the repeated order reaches are tried, the shortest first: each task is placed at the
// earliest moment that is free, in every round, on all its lanes. Since lanes start each task as
// soon as they can, what comes out is never slower than its period.
#ifndef CGRAPH_COMPILER_SCHEDULE_ORDERING_STEADY_STATE_H_
#define CGRAPH_COMPILER_SCHEDULE_ORDERING_STEADY_STATE_H_

#include <optional>
#include <vector>

#include "compiler/schedule/ordering/tasks/tasks.h"

namespace cgraph::schedule {

// When the last of so many executions ends, one after the other on lanes that keep the table's
// order, and only `inflight` of them at a time.
uint64_t EndOfMany(const Tasks& tasks, const Timetable& table, size_t inflight, size_t executions);

// How long after an execution the next one ends, once many have: the initiation interval of the
// table repeated.
uint64_t IntervalOf(const Tasks& tasks, const Timetable& table, size_t inflight);

// Nothing where no shorter period than that of the order repeated was found, or there are too many
// tasks to look. Else the order of a round, the starts in it, and the lags, all less than
// `inflight`. In each execution the policy's sequences are kept; its limits are not.
std::optional<Timetable> FindSteadyState(const Tasks& tasks, const Policy& policy,
                                         const std::vector<LoopCarriedDependency>& carried,
                                         const Timetable& once, size_t inflight);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_ORDERING_STEADY_STATE_H_
