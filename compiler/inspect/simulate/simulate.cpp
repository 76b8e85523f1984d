#include "compiler/inspect/simulate.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "compiler/inspect/simulate/bounds.h"
#include "compiler/inspect/simulate/contention.h"
#include "compiler/inspect/simulate/durations.h"
#include "compiler/inspect/simulate/lane_times.h"
#include "compiler/inspect/simulate/read_trace.h"
#include "runtime/plan/graph_index.h"
#include "runtime/plan/load.h"
#include "runtime/plan/placement.h"
#include "runtime/plan/print.h"

namespace cgraph {
namespace {

// Describes the first instruction of each lane that cannot end.
std::vector<std::string> DescribeStuck(const plan::Plan& plan, const plan::Graph& graph,
                                       const std::vector<uint32_t>& moments) {
  std::set<uint32_t> stuck;  // instructions; the meetings they share have later numbers
  for (uint32_t moment : moments) {
    if (moment < LaneTimes::Start(graph.instructions.size())) {
      stuck.insert(moment / 2);
    }
  }
  std::vector<std::string> lines;
  for (uint32_t lane = 0; lane < graph.programs.size(); ++lane) {
    const plan::Range& program = graph.programs[lane];
    const auto first = stuck.lower_bound(program.first());
    if (first != stuck.end() && *first < program.first() + program.count()) {
      lines.push_back(plan::LaneName(plan, lane) + ": " +
                      plan::InstructionText(plan, graph, *first));
    }
  }
  return lines;
}

struct Interval {
  uint64_t from;
  uint64_t to;
};

uint64_t UnionLength(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.from < b.from; });
  uint64_t length = 0;
  uint64_t covered = 0;  // up to here
  for (const Interval& interval : intervals) {
    if (interval.to > covered) {
      length += interval.to - std::max(covered, interval.from);
      covered = interval.to;
    }
  }
  return length;
}

std::vector<DeviceTimes> TimesOfDevices(const plan::Plan& plan, const plan::Graph& graph,
                                        const Simulation& simulation) {
  std::vector<std::vector<Interval>> calls(plan.devices.size()), all(plan.devices.size());
  for (const plan::TraceEvent& event : simulation.events) {
    const uint32_t device = plan.lanes[event.lane].device();
    if (graph.instructions[event.instruction].kind() == plan::Kind::call) {
      calls[device].push_back({event.active, event.end});
    }
    all[device].push_back({event.active, event.end});
  }
  std::vector<DeviceTimes> times(plan.devices.size());
  for (size_t device = 0; device < times.size(); ++device) {
    const uint64_t at_work = UnionLength(std::move(all[device]));
    times[device].busy = UnionLength(std::move(calls[device]));
    times[device].transfer = at_work - times[device].busy;
    times[device].waiting = simulation.makespan - at_work;
  }
  return times;
}

// Returns the time that each worker works, whatever it works at.
std::vector<uint64_t> TimesOfWorkers(const plan::Placement& placement,
                                     const Simulation& simulation) {
  std::vector<std::vector<Interval>> work(placement.workers);
  for (const plan::TraceEvent& event : simulation.events) {
    const uint32_t work_queue = placement.work_queue_of_lane[event.lane];
    work[placement.worker_of_work_queue[work_queue]].push_back({event.active, event.end});
  }
  std::vector<uint64_t> times;
  for (std::vector<Interval>& intervals : work) times.push_back(UnionLength(std::move(intervals)));
  return times;
}

// Returns the number of rounds until the last execution has passed through every instruction.
uint64_t RoundsFor(const plan::Graph& graph, uint32_t executions) {
  uint32_t longest_lag = 0;
  for (const plan::Instruction& instruction : graph.instructions) {
    longest_lag = std::max<uint32_t>(longest_lag, instruction.lag());
  }
  return uint64_t{executions} + longest_lag;
}

void Play(const plan::Graph& graph, const LaneTimes& lane_times,
          const std::vector<uint64_t>& durations, const Contention& contention, bool instants,
          Simulation& simulation) {
  const uint32_t executions = simulation.executions;
  const auto works = [&](uint32_t instruction, uint64_t round) {
    const uint32_t lag = graph.instructions[instruction].lag();
    return round >= lag && round - lag < executions;  // else its execution is empty
  };
  const auto weight = [&](uint32_t moment, uint64_t round) -> uint64_t {
    const uint32_t instruction = lane_times.only_for[moment];
    return instruction == plan::kNone || works(instruction, round) ? lane_times.weights[moment] : 0;
  };
  const auto see = [&](uint64_t round, std::span<const uint64_t> times) {
    for (uint32_t lane = 0; lane < graph.programs.size(); ++lane) {
      const plan::Range& program = graph.programs[lane];
      for (uint32_t i = program.first(); i < program.first() + program.count(); ++i) {
        const plan::Instruction& instruction = graph.instructions[i];
        if (instruction.kind() == plan::Kind::signal || instruction.kind() == plan::Kind::wait ||
            !works(i, round)) {
          continue;
        }
        const uint64_t start = times[LaneTimes::Start(i)];
        const uint64_t end = times[LaneTimes::End(i)];
        if (start == end && !instants) {
          continue;
        }
        const uint64_t active = std::max(start, end - std::min(end, durations[i]));
        simulation.events.push_back({lane, i, round - instruction.lag(), start, active, end});
        simulation.makespan = std::max(simulation.makespan, end);
      }
    }
  };
  const uint64_t rounds = RoundsFor(graph, executions);
  if (contention.holds.empty()) {
    lane_times.moments.Play(rounds, weight, see);
  } else {
    PlayContended(lane_times.moments, contention, rounds, weight, see);
  }
}

// Returns the bytes by device: arenas of all copies, and the state of the actors there, which is
// one for all graphs.
std::vector<uint64_t> MemoryOf(const plan::Plan& plan, const plan::Graph& graph) {
  std::vector<uint64_t> bytes(plan.devices.size(), 0);
  for (const plan::Arena& arena : graph.arenas) {
    if (arena.space() == plan::Space::state) continue;
    const uint64_t copies = std::max<uint64_t>(arena.copies(), 1);
    bytes[arena.device()] = AddTimes(bytes[arena.device()], arena.bytes() * copies);
  }
  for (const auto& actor : plan.actors) {
    bytes[actor->device] = AddTimes(bytes[actor->device], actor->state_bytes);
  }
  return bytes;
}

// Executions that are all submitted at time 0.
Simulation SimulateExecutions(const plan::Plan& plan, const plan::Graph& graph,
                              const SimulateOptions& options) {
  std::vector<uint64_t> expected = ExpectedTimes(graph);
  Movements movements;
  if (options.topology != nullptr) {
    movements = ApplyTopology(plan, graph, *options.topology, expected);
  }
  std::vector<uint64_t> durations = Durations(plan, graph, options.profile, std::move(expected));
  HalveBuffered(plan, graph, durations);
  std::optional<plan::Placement> placement;
  if (options.workers > 0) placement = plan::Place(plan, options.workers, /*merged=*/true);
  LaneTimes lane_times =
      TimeLanes(plan, graph, durations, movements, placement ? &*placement : nullptr);

  Simulation simulation;
  simulation.executions = options.executions;
  const std::vector<uint32_t> stuck = lane_times.moments.Sort();
  if (!stuck.empty()) {
    simulation.stuck = DescribeStuck(plan, graph, stuck);
    return simulation;
  }
  Contention contention = ContentionOf(lane_times, movements, options.topology);
  if (placement && options.cores > 0 && options.cores < placement->workers) {
    ShareCores(lane_times, options.cores, contention);
  }
  Play(graph, lane_times, durations, contention, options.instants, simulation);
  simulation.devices = TimesOfDevices(plan, graph, simulation);
  if (placement) simulation.workers = TimesOfWorkers(*placement, simulation);
  LowerBounds bounds = BoundMakespan(plan, graph, durations, options.executions, contention,
                                     placement ? &*placement : nullptr);
  simulation.longest_path = bounds.longest_path;
  simulation.through_lane = bounds.through_lane;
  simulation.busiest_resource = bounds.busiest_resource;
  simulation.resource = std::move(bounds.resource);
  simulation.busiest_worker = bounds.busiest_worker;
  simulation.memory = MemoryOf(plan, graph);
  return simulation;
}

// Makes rounds of the simulation of one: each begins when the one before is over, since its inputs
// and whether there is another round are results of that.
void Repeat(uint32_t rounds, Simulation& simulation) {
  const auto all = [rounds](uint64_t& time) {
    constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
    time = time > kMost / rounds ? kMost : time * rounds;
  };
  const uint64_t round_time = simulation.makespan;
  const size_t events = simulation.events.size();
  simulation.events.reserve(events * rounds);
  uint64_t begin = 0;
  for (uint32_t round = 1; round < rounds; ++round) {
    begin = AddTimes(begin, round_time);
    for (size_t i = 0; i < events; ++i) {
      plan::TraceEvent event = simulation.events[i];
      event.execution = round;
      for (uint64_t* time : {&event.start, &event.active, &event.end}) {
        *time = AddTimes(*time, begin);
      }
      simulation.events.push_back(event);
    }
  }
  simulation.executions = rounds;
  for (uint64_t* time : {&simulation.makespan, &simulation.longest_path, &simulation.through_lane,
                         &simulation.busiest_resource, &simulation.busiest_worker}) {
    all(*time);
  }
  for (DeviceTimes& times : simulation.devices) {
    for (uint64_t* time : {&times.busy, &times.transfer, &times.waiting}) all(*time);
  }
  for (uint64_t& busy : simulation.workers) all(busy);
}

}  // namespace

Simulation Simulate(const plan::Plan& plan, uint32_t graph_index, const SimulateOptions& options) {
  const plan::Graph& graph = plan::GraphAt(plan, graph_index);
  const bool is_before = graph_index != plan::kNone && plan::IsBefore(plan, graph_index);
  if (graph.repeat == nullptr && !is_before) return SimulateExecutions(plan, graph, options);
  SimulateOptions once = options;
  once.executions = 1;
  Simulation simulation = SimulateExecutions(plan, graph, once);
  const bool repeats = !is_before && options.executions > 1 && !simulation.deadlocks();
  if (repeats) Repeat(options.executions, simulation);
  return simulation;
}

namespace {

// Keeps the events of the first `count` executions, with times from the first event on.
void KeepFirst(uint32_t count, std::vector<plan::TraceEvent>& events) {
  uint64_t first = UINT64_MAX, origin = UINT64_MAX;
  for (const plan::TraceEvent& event : events) first = std::min(first, event.execution);
  std::erase_if(events, [&](const plan::TraceEvent& event) {
    return event.execution - first >= count;
  });
  for (const plan::TraceEvent& event : events) origin = std::min(origin, event.start);
  for (plan::TraceEvent& event : events) {
    for (uint64_t* time : {&event.start, &event.active, &event.end}) *time -= origin;
  }
}

}  // namespace

llvm::Expected<Simulation> MeasuredRun(const plan::Plan& plan, uint32_t graph_index,
                                       llvm::StringRef trace, uint32_t executions) {
  const plan::Graph& graph = plan::GraphAt(plan, graph_index);
  auto read = ReadTrace(plan, graph_index, trace);
  if (!read) return read.takeError();
  Simulation run;
  run.measured = true;
  run.events = std::move(read->events);
  run.ended = std::move(read->ended);
  if (executions != 0) KeepFirst(executions, run.events);
  for (const plan::TraceEvent& event : run.events) {
    run.makespan = std::max(run.makespan, event.end);
    run.executions = std::max(run.executions, static_cast<uint32_t>(event.execution + 1));
  }
  run.devices = TimesOfDevices(plan, graph, run);
  run.memory = MemoryOf(plan, graph);
  return run;
}

double Simulation::gap() const {
  return lower_bound() == 0 ? 0.0 : static_cast<double>(makespan) / lower_bound() - 1.0;
}

double Simulation::bubble(uint32_t device) const {
  return makespan == 0 ? 0.0 : 1.0 - static_cast<double>(devices[device].busy) / makespan;
}

bool Simulation::computes() const {
  return std::any_of(devices.begin(), devices.end(),
                     [](const DeviceTimes& times) { return times.busy > 0; });
}

double Simulation::bubble() const {
  double sum = 0;
  int computing = 0;
  for (uint32_t device = 0; device < devices.size(); ++device) {
    if (devices[device].busy > 0) {
      sum += bubble(device);
      ++computing;
    }
  }
  return computing == 0 ? 0.0 : sum / computing;
}

}  // namespace cgraph
