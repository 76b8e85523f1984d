// Arrange: a better order than the program's, where the program leaves a choice.
//
// Without rules each device makes its calls in program order, and what travels is ordered by when
// it can travel; with rules calls are ordered too. Both ends of a transfer and all parts of a
// collective start as one task, so every order found here is one in which nothing waits for ever.
#include "compiler/base/check.h"
#include "compiler/schedule/arrange/blocked.h"
#include "compiler/schedule/arrange/search.h"
#include "compiler/schedule/arrange/task_maker.h"
#include "compiler/schedule/passes.h"

namespace cgraph::schedule {

void Arrange(const graph::Module& module, const graph::Graph& graph, const ScheduleOptions& options,
             Schedule& schedule, Diagnostics& diagnostics) {
  if (!schedule.overlap && !graph.rules) return;
  const TaskList list = MakeTasks(module, graph, schedule, options.memory, options.topology);
  const bool search = graph.rules && graph.rules->automatic;
  const Timetable table = search ? Search(list.tasks, options.search)
                                 : ListSchedule(list.tasks, list.policy);
  if (table.order.size() < list.tasks.size()) {
    CGRAPH_CHECK(graph.rules.has_value(), "schedule", "program order cannot go on");
    return ReportBlocked(module, graph, schedule, list, table, diagnostics);
  }
  Reorder(graph, list.members, table.order, schedule);
}

}  // namespace cgraph::schedule
