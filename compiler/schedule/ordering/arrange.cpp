// OrderTasks: a better order than the program's, where the program leaves a choice.
//
// Without rules each device makes its calls in program order, and what travels is ordered by when
// it can travel; with rules calls are ordered too. Both ends of a transfer and all parts of a
// collective start as one task, so every order found here is one in which nothing waits for ever.
#include <algorithm>

#include "compiler/base/check.h"
#include "compiler/schedule/ordering/list/blocked.h"
#include "compiler/schedule/ordering/list/fallback.h"
#include "compiler/schedule/ordering/list/list_schedule.h"
#include "compiler/schedule/ordering/search/search.h"
#include "compiler/schedule/ordering/steady_state.h"
#include "compiler/schedule/ordering/tasks/task_maker.h"
#include "compiler/schedule/passes.h"

namespace cgraph::schedule {

namespace {

// What the slots need in the fallback, by device.
std::vector<int64_t> Needs(const SlotLimits& limits, const Fallback& fallback) {
  std::vector<int64_t> needs;
  if (fallback.order.empty()) return needs;
  size_t memory = 0;
  for (const std::optional<int64_t>& limit : limits) {
    needs.push_back(limit ? fallback.needs[memory++] : 0);
  }
  return needs;
}

// All gives work for the execution of the last of them: what waits until an execution has been
// given must not wait for what a later one gives on the same lane.
void GiveTogether(const Schedule& schedule, const TaskList& list, Timetable& table) {
  std::vector<uint32_t> gives;
  uint32_t lag = 0;
  for (uint32_t task = 0; task < list.tasks.size(); ++task) {
    const LaneId lane = schedule.units[list.members[task][0]].lane;
    if (schedule.lanes[lane].kind != LaneKind::kOutput) continue;
    gives.push_back(task);
    lag = std::max(lag, table.lags[task]);
  }
  for (uint32_t task : gives) table.lags[task] = lag;
}

}  // namespace

OrderingResult OrderTasks(const graph::Module& module, const graph::Graph& graph,
                 const ScheduleOptions& options, const SlotLimits& limits, Schedule& schedule,
                 Diagnostics* diagnostics) {
  OrderingResult result;
  if (!schedule.overlap && !graph.rules) {
    result.fixed = true;
    return result;
  }
  TaskList list = MakeTasks(graph, limits, schedule, options.topology);
  if (!list.tasks.memories.empty()) {
    Fallback fallback = FindFallback(list.tasks, list.policy);
    result.needs = Needs(limits, fallback);
    bool fits = !fallback.order.empty();
    for (size_t i = 0; fits && i < fallback.needs.size(); ++i) {
      fits = fallback.needs[i] <= list.tasks.memories[i];
    }
    if (fits) list.tasks.fallback = std::move(fallback.order);
  }
  const bool search = graph.rules && graph.rules->automatic;
  std::vector<Timetable> tables;
  if (search) {
    tables = Search(list.tasks, options.search,
                    {ByStart(list, schedule), {list.program, list.policy}});
  }
  if (tables.empty()) tables.push_back(ListSchedule(list.tasks, list.policy));
  const Timetable& table = tables[0];
  result.done = table.order.size() == list.tasks.size();
  if (result.done) {
    // What rules say is said of one execution.
    if (graph.inflight > 1 && schedule.overlap && (!graph.rules || search)) {
      std::optional<Timetable> steady = FindSteadyState(
          list.tasks, list.policy, list.carried, table, static_cast<size_t>(graph.inflight));
      if (steady) {
        GiveTogether(schedule, list, *steady);
        result.steady = schedule;
        Reorder(graph, list.members, *steady, *result.steady);
      }
    }
    for (size_t i = 1; i < tables.size() && !limits.empty(); ++i) {
      result.others.push_back(schedule);
      Reorder(graph, list.members, tables[i], result.others.back());
    }
    Reorder(graph, list.members, table, schedule);
  } else if (diagnostics != nullptr) {
    CGRAPH_CHECK(graph.rules.has_value(), "schedule", "program order cannot go on");
    ReportBlocked(module, graph, schedule, list, table, *diagnostics);
  }
  return result;
}

}  // namespace cgraph::schedule
