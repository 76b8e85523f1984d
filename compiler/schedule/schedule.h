// The scheduler: a Graph -> lanes, an order, waits between lanes, and memory.
//
// Its passes are a function each, with a file or folder of its own. For each number of lanes that
// ChooseLanes (ordering/) tries, a graph is prepared by
//   Lower (lower/)            makes transfers of edges between devices; gives every step a lane
//   and, in prepare/,
//   CheckMachine              checks that a stated machine has everything that is used
//   EstimateCosts             estimates how long each step takes, by the cost model
//   Order                     puts all steps into program order, both ends of a transfer and all
//                             parts of a collective as one step
//   ApplyProfile              replaces estimated times by measured ones
// RefuseOverlaps (prepare/) refuses a graph with too much to put in order, RefuseHopeless (fit/)
// one that needs more memory in every order than it may have; no other number of lanes is tried
// then. Otherwise FitMemory (fit/) runs these passes, once or, where memory is limited, until their
// result keeps the limits:
//   OrderTasks (ordering/)    finds another order where the program leaves a choice, by list
//                             scheduling in simulated time, as rules say, or by a search
//   Synchronise (waits/)      adds the waits between lanes that data, state and the copies of
//                             memory need, except those that others imply
//   PlanMemory (memory/)      takes lifetimes from the order and offsets from an offset assignment
//                             (offsets/)
// Functions that several passes share stand beside them: which unit touches which bytes
// (accesses.h) and what must be done before what (dependencies.h). The start graph stays in program
// order, as its files are read: it has no ChooseLanes, FitMemory and OrderTasks. The result is the
// schedule (ir.h); Validate (validate.h) checks it after preparation, then after each pass.
//
// Times are whole picoseconds and effort is counted in steps tried, so one graph has one schedule,
// byte for byte, on every machine. Three things let `inflight` executions run at once. Lanes drift
// apart, since each slot buffer has that many copies. Inputs and outputs have lanes of their own,
// so that no output holds up an input. Where a lane would still wait, steps work for an execution
// before that of their neighbours (Step::lag; ordering/steady_state.h).
#ifndef CGRAPH_COMPILER_SCHEDULE_SCHEDULE_H_
#define CGRAPH_COMPILER_SCHEDULE_SCHEDULE_H_

#include <vector>

#include "compiler/base/diagnostics/diagnostics.h"
#include "compiler/graph/graph.h"
#include "compiler/schedule/ir.h"

namespace cgraph {

struct ScheduleOptions;  // options.h

// Returns the schedules of module.start, then of each of module.graphs. Without errors in
// `diagnostics`, which are about rules, they may be emitted.
std::vector<schedule::Schedule> ScheduleModule(const graph::Module& module,
                                               const ScheduleOptions& options,
                                               Diagnostics& diagnostics);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_SCHEDULE_SCHEDULE_H_
