// The scheduler: a Graph -> lanes, an order, waits between lanes, and memory.
//
// Its passes, a function and a file or folder each. Every graph is prepared by
//   Lower (lower/)        edges between devices become transfers; every step gets a lane
//   and, in prepare/,
//   CheckMachine          whether a machine that is stated has all that is used
//   EstimateCosts              how long each step takes, by the cost model
//   Order                 program order of all steps, both ends of a transfer and all parts of a
//                         collective as one step
//   ApplyProfile          what was measured, instead of what was estimated
// as often as ChooseLanes (arrange/) tries another number of lanes. Then FitMemory (fit/) runs,
// once or, where memory is limited, until what they make keeps the limits,
//   OrderTasks (arrange/)    another order where the program leaves a choice, by list scheduling in
//                         simulated time, as rules say, or as a search finds
//   Synchronise (waits/)  the waits between lanes that data, state and the copies of memory need,
//                         less those that others imply
//   PlanMemory (memory/)  lifetimes from the order; offset assignment (offset assignment/) gives
//   offsets
// What several of them ask of a schedule stands beside them: who touches which bytes (accesses.h),
// and what must be done before what (dependencies.h).
// The start graph stays in program order, as its files are read: no ChooseLanes, Fit and
// OrderTasks. The result is the schedule (ir.h), which Validate (validate.h) looks at after each of
// them.
//
// Times are whole picoseconds and effort is counted in steps tried, so one graph has one schedule,
// byte for byte, on every machine. What lets `inflight` executions run at once is that lanes drift
// apart, each slot buffer having that many copies, and that takes and gives have lanes of their
// own, so that no give holds up a take; and, where that leaves a lane waiting, that steps work for
// an execution before that of their neighbours (Step::lag; arrange/steady_state.h).
#ifndef CGRAPH_COMPILER_SCHEDULE_SCHEDULE_H_
#define CGRAPH_COMPILER_SCHEDULE_SCHEDULE_H_

#include <vector>

#include "compiler/base/diagnostics/diagnostics.h"
#include "compiler/graph/graph.h"
#include "compiler/schedule/ir.h"

namespace cgraph {

struct ScheduleOptions;  // options.h

// The schedules of module.start, then of each of module.graphs. Without errors in `diagnostics`,
// which are about rules, they may be emitted.
std::vector<schedule::Schedule> ScheduleModule(const graph::Module& module,
                                               const ScheduleOptions& options,
                                               Diagnostics& diagnostics);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_SCHEDULE_SCHEDULE_H_
