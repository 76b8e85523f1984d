#include "compiler/schedule/prepare/choose_lanes.h"

#include <algorithm>

#include "compiler/schedule/ordering/list/list_schedule.h"
#include "compiler/schedule/ordering/steady_state.h"
#include "compiler/schedule/ordering/tasks/task_maker.h"

namespace cgraph::schedule {
namespace {

constexpr uint32_t kMostUnits = 30'000;  // of larger graphs one lane is taken

// What a graph costs with some lanes.
struct LaneTrial {
  Schedule schedule;
  uint64_t end = 0;    // of the last execution
  bool waits = false;  // something that travels waits for its lane
};

bool IsComm(const Lane& lane) {
  return lane.kind == LaneKind::kComm || lane.kind == LaneKind::kSend ||
         lane.kind == LaneKind::kReceive;
}

// Whether the task starts later than what it needs would let it, on a lane for what travels.
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

LaneTrial Try(const graph::Graph& graph, const cost::Topology* topology, Schedule schedule) {
  LaneTrial trial;
  const TaskList list = MakeTasks(graph, /*limits=*/{}, schedule, topology);
  const Timetable table = ListSchedule(list.tasks, list.policy);
  const auto inflight = static_cast<size_t>(graph.inflight);
  if (table.order.size() < list.tasks.size()) {
    trial.end = UINT64_MAX;
  } else {
    const size_t executions = std::min(4 * inflight, size_t{64});
    trial.end = inflight == 1 ? table.makespan
                              : EndOfMany(list.tasks, table, inflight, executions);
  }
  // What does not wait in one execution may still wait for what belongs to another one.
  trial.waits = inflight > 1;
  for (uint32_t task : table.order) {
    trial.waits = trial.waits || WaitsForLane(schedule, list.tasks, table, task);
  }
  trial.schedule = std::move(schedule);
  return trial;
}

}  // namespace

Schedule ChooseLanes(const graph::Graph& graph, const cost::Topology* topology,
                     const std::function<Schedule(CommLanes)>& prepare) {
  Schedule one = prepare(CommLanes::kOne);
  const bool communicates = std::any_of(one.lanes.begin(), one.lanes.end(), IsComm);
  if (!communicates || one.units.size() > kMostUnits) return one;
  LaneTrial best = Try(graph, topology, std::move(one));
  if (!best.waits) return std::move(best.schedule);
  for (const CommLanes lanes : {CommLanes::kPeer, CommLanes::kEdge}) {
    LaneTrial trial = Try(graph, topology, prepare(lanes));
    if (trial.end < best.end) best = std::move(trial);
  }
  return std::move(best.schedule);
}

}  // namespace cgraph::schedule
