// The passes of the scheduler; schedule.h lists them in their order.
#ifndef CGRAPH_COMPILER_SCHEDULE_PASSES_H_
#define CGRAPH_COMPILER_SCHEDULE_PASSES_H_

#include <functional>

#include "compiler/base/diagnostics/diagnostics.h"
#include "compiler/cost/costs.h"
#include "compiler/cost/profile.h"
#include "compiler/graph/graph.h"
#include "compiler/schedule/options.h"

namespace cgraph::schedule {

// Makes lanes, buffers, locations, channels and steps, in no order that means anything but
// Step::place. Every step's operands lie where its lane can reach them.
void Lower(const graph::Module& module, const graph::Graph& graph, CommLanes comm_lanes,
           Schedule& schedule);

// Reports devices that a stated machine does not have, and those that it does not connect.
void CheckMachine(const graph::Module& module, const graph::Graph& graph, const Schedule& schedule,
                  const cost::Costs& costs, Diagnostics& diagnostics);

// Estimates how long each step takes, and which shared resources it holds.
void EstimateCosts(const graph::Module& module, const graph::Graph& graph, const cost::Costs& costs,
                   Schedule& schedule);

// Sorts the steps into program order, and makes the units of the lanes.
void Order(Schedule& schedule);

// Makes the units of the lanes anew, from the steps in their order. Calls that `rules` fuse are
// one.
void MakeUnits(const graph::Rules* rules, Schedule& schedule);

// Gives steps the profile's time, where the profile names them.
void ApplyProfile(const graph::Module& module, const graph::Graph& graph, const Profile& profile,
                  Schedule& schedule);

// SlotLimits: by device, the bytes that one copy of its slots may take; nothing: no limit.
using SlotLimits = std::vector<std::optional<int64_t>>;

// OrderingResult: what OrderTasks did.
struct OrderingResult {
  bool done = true;    // false: something waits for ever, and the order stays as it was
  bool fixed = false;  // there was nothing to choose
  // By device that has a limit: what the slots need in an order that needs little, 0 for the
  // others. Empty: no order was found that the rules let end.
  std::vector<int64_t> needs;
  // With executions in flight: an order with lags, in which they follow each other sooner.
  std::optional<Schedule> steady;
  // Within limits, after a search: other orders that are about as good, the best first.
  std::vector<Schedule> others;
};

// Changes the order where the program leaves a choice, so that the slots' bytes alive at one moment
// keep within limits. Rules that can never be kept are reported to `diagnostics`, if it is not
// null.
OrderingResult OrderTasks(const graph::Module& module, const graph::Graph& graph,
                          const ScheduleOptions& options, const SlotLimits& limits,
                          Schedule& schedule, Diagnostics* diagnostics);

// Adds the waits between lanes without which two accesses to one buffer would not be ordered as the
// program means them, in one execution and over the executions that share its memory. On devices
// that are `tight` (by device; empty: none) a unit that writes into a new buffer waits, besides,
// for all that has ended by then, so that its bytes can be used again.
void Synchronise(const graph::Graph& graph, const std::vector<bool>& tight, Schedule& schedule);

// Gives every buffer its offset. Two slot buffers lie on the same bytes only where all accesses are
// ordered already: memory never adds a wait. Where first fit exceeds a limit, the offset assignment
// that keeps it is looked for.
void PlanMemory(const graph::Module& module, const graph::Graph& graph, const SlotLimits& limits,
                Schedule& schedule);

// DeviceLimits: by device, the bytes that a graph may hold there, besides what its rules say;
// nothing: no limit.
using DeviceLimits = std::vector<std::optional<int64_t>>;

// Reports a graph whose accesses to parts of one buffer overlap so often that to put them in order
// takes minutes, which the prover would refuse; returns whether it is one. `schedule`: as prepared.
bool RefuseOverlaps(const graph::Graph& graph, const Schedule& schedule, Diagnostics& diagnostics);

// Reports a device that needs more than its limit in every order, and returns whether there is one.
// If so, the schedule keeps program order, with waits and offsets. `schedule`: as prepared; the
// number of lanes does not matter.
bool RefuseHopeless(const graph::Module& module, const graph::Graph& graph,
                    const ScheduleOptions& options, const DeviceLimits& limits, Schedule& schedule,
                    Diagnostics& diagnostics);

// Runs OrderTasks, Synchronise and PlanMemory, so that no device holds more than its memory allows,
// or the diagnostics say what is in the way.
void FitMemory(const graph::Module& module, const graph::Graph& graph,
               const ScheduleOptions& options, const DeviceLimits& limits, Schedule& schedule,
               Diagnostics& diagnostics);

// How many lanes a device has for what it exchanges with others, when no flag says it: the fewest
// with which nothing ends later.
//
// More lanes cost a machine more to keep going, and each of NCCL's needs a communicator, so one is
// taken unless something in the graph's timetable waits for that lane. If so, and the graph is not
// so large that looking would take long, it is list-scheduled with each, and the one that ends
// first wins; of equal ones that with fewer lanes. Where the order is searched for, too, each is
// searched with an eighth of the effort. Of several executions in flight what counts is
// when the last of many ends: one lane for all lets no device receive for the next execution before
// it has sent what belongs to this one. So many lanes that the plan could not be proved are never
// taken: of each instruction a proof keeps a number for every lane.
//
// `prepare` makes the schedule in program order with so many lanes; `one` is the schedule that it
// makes with kOne. Returns the schedule with the lanes that are chosen; where a search found an
// order for it, its steps say when they start in that order.
Schedule ChooseLanes(const graph::Graph& graph, const ScheduleOptions& options, Schedule one,
                     const std::function<Schedule(CommLanes)>& prepare);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_PASSES_H_
