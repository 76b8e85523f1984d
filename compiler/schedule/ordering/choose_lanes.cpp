#include "compiler/schedule/passes.h"

#include <algorithm>

#include "compiler/schedule/ordering/list/list_schedule.h"
#include "compiler/schedule/ordering/search/search.h"
#include "compiler/schedule/ordering/steady_state.h"
#include "compiler/schedule/ordering/tasks/task_maker.h"

namespace cgraph::schedule {
namespace {

constexpr uint32_t kMostUnits = 30'000;  // of larger graphs one lane is taken
constexpr uint32_t kShare = 8;           // of the effort of a search, for each that is tried

// The most knowledge in a proof, which keeps for each instruction what each lane knows of it, 2^28
// numbers at most (runtime/plan/prove/vector_clocks.cpp). A unit becomes a few instructions, more
// where it waits often.
constexpr uint64_t kMostKnown = uint64_t{1} << 25;

bool CanBeProved(const Schedule& schedule) {
  return uint64_t{schedule.units.size()} * schedule.lanes.size() <= kMostKnown;
}

// LaneTrial: the cost of a graph with some number of lanes.
struct LaneTrial {
  uint64_t end = 0;   // of the last execution, or what a search makes small
  bool done = false;  // with more lanes nothing would be sooner
  Schedule schedule = {};
};

bool IsComm(const Lane& lane) {
  return lane.kind == LaneKind::kComm || lane.kind == LaneKind::kSend ||
         lane.kind == LaneKind::kReceive;
}

// Returns whether the task, on a lane for transfers, starts later than its predecessors would let
// it.
bool WaitsForLane(const Schedule& schedule, const Tasks& tasks, const Timetable& table,
                  uint32_t task) {
  uint64_t ready = 0;
  for (uint32_t before : tasks.predecessors[task]) {
    ready = std::max(ready, table.starts[before] + tasks.durations[before]);
  }
  const std::vector<uint32_t>& lanes = tasks.queues[tasks.queue[task]].lanes;
  return table.starts[task] > ready && std::any_of(lanes.begin(), lanes.end(), [&](uint32_t lane) {
           return IsComm(schedule.lanes[LaneId(lane)]);
         });
}

// Returns when the last of many executions ends.
uint64_t EndOf(const graph::Graph& graph, const TaskList& list, const Timetable& table) {
  if (table.order.size() < list.tasks.size()) return UINT64_MAX;
  const auto inflight = static_cast<size_t>(graph.inflight);
  if (inflight == 1) return table.makespan;
  return EndOfMany(list.tasks, table, inflight, std::min(4 * inflight, size_t{64}));
}

// Returns whether something waits for a lane: a task that does not wait in one execution may still
// wait for another one.
bool SomethingWaits(const graph::Graph& graph, const Schedule& schedule, const TaskList& list,
                    const Timetable& table) {
  return graph.inflight > 1 ||
         std::any_of(table.order.begin(), table.order.end(), [&](uint32_t task) {
           return WaitsForLane(schedule, list.tasks, table, task);
         });
}

LaneTrial TryOne(const graph::Graph& graph, const ScheduleOptions& options, Schedule schedule) {
  const TaskList list = MakeTasks(graph, /*limits=*/{}, schedule, options.topology);
  const Timetable table = ListSchedule(list.tasks, list.policy);
  return {.end = EndOf(graph, list, table),
          .done = !SomethingWaits(graph, schedule, list, table),
          .schedule = std::move(schedule)};
}

LaneTrial SearchOne(const graph::Graph& graph, const ScheduleOptions& options, Schedule schedule) {
  const TaskList list = MakeTasks(graph, /*limits=*/{}, schedule, options.topology);
  const SearchOptions search{.goal = options.search.goal,
                             .effort = std::max(1u, options.search.effort / kShare)};
  const std::vector<Timetable> tables =
      Search(list.tasks, search, {.policies = {list.program, list.policy}});
  if (tables.empty()) return {.end = UINT64_MAX, .schedule = std::move(schedule)};
  const Cost cost = CostOf(list.tasks, tables[0].starts, search.goal);
  LaneTrial trial{.end = graph.inflight == 1 ? cost.goal : EndOf(graph, list, tables[0]),
                  .done = !SomethingWaits(graph, schedule, list, tables[0]) &&
                          cost.goal == LeastCost(list.tasks, search.goal).goal};
  SetStarts(list, tables[0], schedule);
  trial.schedule = std::move(schedule);
  return trial;
}

}  // namespace

Schedule ChooseLanes(const graph::Graph& graph, const ScheduleOptions& options, Schedule one,
                     const std::function<Schedule(CommLanes)>& prepare) {
  const bool communicates = std::any_of(one.lanes.begin(), one.lanes.end(), IsComm);
  if (!communicates || one.units.size() > kMostUnits) return one;
  const auto& attempt = graph.rules && graph.rules->automatic ? SearchOne : TryOne;
  LaneTrial best = attempt(graph, options, std::move(one));
  if (best.done) return std::move(best.schedule);
  for (const CommLanes lanes : {CommLanes::kPeer, CommLanes::kEdge}) {
    Schedule prepared = prepare(lanes);
    if (!CanBeProved(prepared)) continue;
    LaneTrial trial = attempt(graph, options, std::move(prepared));
    if (trial.end < best.end) best = std::move(trial);
  }
  return std::move(best.schedule);
}

}  // namespace cgraph::schedule
