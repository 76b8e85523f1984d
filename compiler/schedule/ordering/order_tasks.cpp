// OrderTasks: a better order than the program's, where the program leaves a choice.
//
// Without rules each device makes its calls in program order, and transfers are ordered by when
// they can happen; with rules calls are ordered too. Both ends of a transfer and all parts of a
// collective start as one task, so every order found here is one in which nothing waits for ever.
#include <algorithm>

#include "compiler/base/check.h"
#include "compiler/schedule/ordering/list/list_schedule.h"
#include "compiler/schedule/ordering/search/search.h"
#include "compiler/schedule/ordering/steady_state.h"
#include "compiler/schedule/ordering/tasks/task_maker.h"
#include "compiler/schedule/passes.h"

namespace cgraph::schedule {

namespace {

// Returns by device the bytes that the slots need in the fallback.
std::vector<int64_t> Needs(const SlotLimits& limits, const Fallback& fallback) {
  std::vector<int64_t> needs;
  if (fallback.order.empty()) return needs;
  size_t memory = 0;
  for (const std::optional<int64_t>& limit : limits) {
    needs.push_back(limit ? fallback.needs[memory++] : 0);
  }
  return needs;
}

// Makes all outputs work for the execution of the last of them. A step that waits until an
// execution has been given out must not wait for a later output on the same lane.
void AlignOutputs(const Schedule& schedule, const TaskList& list, Timetable& table) {
  std::vector<uint32_t> outputs;
  uint32_t lag = 0;
  for (uint32_t task = 0; task < list.tasks.size(); ++task) {
    const LaneId lane = schedule.units[list.members[task][0]].lane;
    if (schedule.lanes[lane].kind != LaneKind::kOutput) continue;
    outputs.push_back(task);
    lag = std::max(lag, table.lags[task]);
  }
  for (uint32_t task : outputs) table.lags[task] = lag;
}

// Puts first the table by which executions follow each other soonest; of those that are known,
// too, though one execution may take longer in them.
void PutSteadiestFirst(const TaskList& list, const KnownOrders& known, size_t inflight,
                       std::vector<Timetable>& tables) {
  for (Timetable& table : KnownTables(list.tasks, known)) tables.push_back(std::move(table));
  std::vector<uint64_t> intervals;
  for (const Timetable& table : tables) {
    intervals.push_back(IntervalOf(list.tasks, table, inflight));
  }
  const auto best = std::min_element(intervals.begin(), intervals.end()) - intervals.begin();
  std::rotate(tables.begin(), tables.begin() + best, tables.begin() + best + 1);
}

// The steady state of the shortest period, where one is shorter than the interval of `once`.
// Program order has one of its own, which a search must not be worse than.
std::optional<Timetable> FindSteadiest(const TaskList& list, const Timetable& once, bool search,
                                       size_t inflight) {
  std::optional<Timetable> steady =
      FindSteadyState(list.tasks, list.policy, list.carried, once, inflight);
  if (!search) return steady;
  const Timetable program = ListSchedule(list.tasks, list.program);
  if (program.order.size() < list.tasks.size()) return steady;
  std::optional<Timetable> other =
      FindSteadyState(list.tasks, list.program, list.carried, program, inflight);
  const uint64_t best = steady ? steady->makespan : IntervalOf(list.tasks, once, inflight);
  return other && other->makespan < best ? other : steady;
}

}  // namespace

OrderingResult OrderTasks(const graph::Module& module, const graph::Graph& graph,
                          const ScheduleOptions& options, const SlotLimits& limits,
                          Schedule& schedule, Diagnostics* diagnostics) {
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
  const auto inflight = static_cast<size_t>(graph.inflight);
  std::vector<Timetable> tables;
  if (search) {
    const KnownOrders known{ByStart(list, schedule), {list.program, list.policy}};
    tables = Search(list.tasks, options.search, known);
    if (inflight > 1 && schedule.overlap && limits.empty() && !tables.empty()) {
      PutSteadiestFirst(list, known, inflight, tables);
    }
  }
  if (tables.empty()) tables.push_back(ListSchedule(list.tasks, list.policy));
  const Timetable& table = tables[0];
  result.done = table.order.size() == list.tasks.size();
  if (result.done) {
    // Rules are about one execution.
    if (inflight > 1 && schedule.overlap && (!graph.rules || search)) {
      std::optional<Timetable> steady = FindSteadiest(list, table, search, inflight);
      if (steady) {
        AlignOutputs(schedule, list, *steady);
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
