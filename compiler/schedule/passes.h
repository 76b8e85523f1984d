// The passes of the scheduler; schedule.h lists them in their order.
#ifndef CGRAPH_COMPILER_SCHEDULE_PASSES_H_
#define CGRAPH_COMPILER_SCHEDULE_PASSES_H_

#include "compiler/base/diagnostics/diagnostics.h"
#include "compiler/cost/profile.h"
#include "compiler/graph/graph.h"
#include "compiler/cost/costs.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/arrange/search.h"

namespace cgraph::schedule {

// Makes lanes, buffers, replicas, channels and steps, in no order that means anything but
// Step::place. Every step's operands lie where its lane can reach them.
void Lower(const graph::Module& module, const graph::Graph& graph, CommLanes comm_lanes,
           Schedule& schedule);

// Reports devices that a stated machine does not have, and those that it does not connect.
void CheckMachine(const graph::Module& module, const graph::Graph& graph, const Schedule& schedule,
                  const cost::Costs& costs, Diagnostics& diagnostics);

// Says how long each step is expected to take, and which shared resources it holds.
void Expect(const graph::Module& module, const graph::Graph& graph, const cost::Costs& costs,
            Schedule& schedule);

// Sorts the steps into program order, and makes the units of the lanes.
void Order(Schedule& schedule);

// The units of the lanes, anew, from the steps in their order. Calls that `rules` fuse are one.
void MakeUnits(const graph::Rules* rules, Schedule& schedule);

// Steps take what the profile says, where it says something.
void ApplyProfile(const graph::Module& module, const graph::Graph& graph, const Profile& profile,
                  Schedule& schedule);

// Changes the order where the program leaves a choice. Rules that can never be kept are reported;
// the order stays as it was.
void Arrange(const graph::Module& module, const graph::Graph& graph, const ScheduleOptions& options,
             Schedule& schedule, Diagnostics& diagnostics);

// Adds the waits between lanes without which two accesses to one buffer would not be ordered as the
// program means them, in one execution and over the executions that share its memory.
void Synchronise(const graph::Graph& graph, Schedule& schedule);

// Gives every buffer its offset. Two slot buffers lie on the same bytes only where all accesses are
// ordered already: memory never adds a wait.
void PlanMemory(const graph::Module& module, const graph::Graph& graph, Schedule& schedule);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_PASSES_H_
