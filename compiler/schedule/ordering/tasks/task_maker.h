// Tasks from a schedule and back: the units of a schedule in program order, with the rules that the
// graph states, as the list scheduler sees them; and an order of tasks as an order of steps.
#ifndef CGRAPH_COMPILER_SCHEDULE_ORDERING_TASKS_TASK_MAKER_H_
#define CGRAPH_COMPILER_SCHEDULE_ORDERING_TASKS_TASK_MAKER_H_

#include <vector>

#include "compiler/schedule/ordering/tasks/tasks.h"
#include "compiler/schedule/passes.h"

namespace cgraph::schedule {

struct TaskList {
  Tasks tasks;
  std::vector<std::vector<UnitId>> members;  // by task: its units, in the order they shall have
  Policy policy;                             // as the graph's rules say, else program order
  Policy program;                            // program order whatever rules say; only for `auto`
  std::vector<LoopCarriedDependency> carried;              // where several executions are in flight
};

// The units stand in program order. `topology`: whose shared resources are held; null: none.
TaskList MakeTasks(const graph::Graph& graph, const SlotLimits& limits,
                   const Schedule& schedule, const cost::Topology* topology = nullptr);

// All tasks by when their steps start, of those that start at one moment in program order.
std::vector<uint32_t> ByStart(const TaskList& list, const Schedule& schedule);

// Says of each step when it starts, and leaves the order.
void SetStarts(const TaskList& list, const Timetable& table, Schedule& schedule);

// Puts the steps, hence the units, into the order of the tasks, with their lags.
void Reorder(const graph::Graph& graph, const std::vector<std::vector<UnitId>>& members,
             const Timetable& table, Schedule& schedule);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_ORDERING_TASKS_TASK_MAKER_H_
