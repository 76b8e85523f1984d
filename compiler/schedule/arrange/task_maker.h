// Tasks from a schedule and back: the units of a schedule in program order, with the rules that the
// graph states, as the list scheduler sees them; and an order of tasks as an order of steps.
#ifndef CGRAPH_COMPILER_SCHEDULE_ARRANGE_TASK_MAKER_H_
#define CGRAPH_COMPILER_SCHEDULE_ARRANGE_TASK_MAKER_H_

#include <optional>
#include <span>
#include <vector>

#include "compiler/schedule/passes.h"
#include "compiler/schedule/arrange/steady_state.h"
#include "compiler/schedule/arrange/tasks.h"

namespace cgraph::schedule {

struct TaskList {
  Tasks tasks;
  std::vector<std::vector<UnitId>> members;  // by task: its units, in the order they shall have
  Policy policy;                             // as the graph's rules say, else program order
  std::vector<Carried> carried;              // where several executions are in flight
};

// The units stand in program order. `topology`: whose shared resources are held; null: none.
TaskList MakeTasks(const graph::Graph& graph, const SlotLimits& limits,
                   const Schedule& schedule, const cost::Topology* topology = nullptr);

// Ranks by class (the least first), then by `keys` (missing ones count as 0), then by the longest
// remaining path, then by program order.
std::vector<uint32_t> RankTasks(const Tasks& tasks, std::span<const uint32_t> classes,
                                const std::vector<std::vector<int64_t>>& keys);

// Puts the steps, hence the units, into the order of the tasks, with their lags.
void Reorder(const graph::Graph& graph, const std::vector<std::vector<UnitId>>& members,
             const Timetable& table, Schedule& schedule);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_ARRANGE_TASK_MAKER_H_
