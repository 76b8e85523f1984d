// What a command line asks for, a run or a check of effects, and the phases of a run in the order
// in which Execute() calls them.
#ifndef CGRAPH_RUNTIME_COMMAND_PHASES_H_
#define CGRAPH_RUNTIME_COMMAND_PHASES_H_

#include <atomic>
#include <cstdint>

#include "runtime/base/exit_code.h"
#include "runtime/cluster/launcher.h"
#include "runtime/command/inputs/inputs.h"
#include "runtime/command/messages.h"
#include "runtime/command/options.h"
#include "runtime/command/outcome/outcome.h"
#include "runtime/command/run/training.h"
#include "runtime/command/signals.h"
#include "runtime/engine/engine.h"
#include "runtime/plan/load.h"
#include "runtime/plan/plan.h"

namespace cgraph::command {

// Loads the plan and its inputs, executes, and reports the results.
//
// Returns the exit code of the command; errors have been printed. Where a kernel never returns,
// this function does not return either: the process ends in it. `machines`: the other ranks, where
// a launcher has started this process, or null.
ExitCode Execute(const Options& options, cluster::Peers* machines, Signals& signals);

// Executes a .cgraph in its own order, in program order and in the opposite one, each in a process
// of its own with the flags of `argv`, and compares all outputs and states: the same bits, or
// floats that differ as sums in another order do. Clauses of native code that say too little of
// what a method does show so (docs/language.md).
ExitCode CheckEffects(const Options& options, int argc, char** argv, Signals& signals);

// Compiles the .cgraph that is to be run: the runtime holds no compiler, so it calls the cgc beside
// cgrun.
//
// Returns the plan of options.file, compiled where it is a source. Without a plan the error has
// been printed, and `exit_code` says which kind it was; cgc's own exit code is passed on.
plan::PlanOrExit LoadPlan(const Options& options, Signals& signals);

// Checks the flags that say something of rounds, or of executions that a graph which repeats does
// not have.
Problem CheckRepeats(const std::vector<const plan::Graph*>& graphs, const Options& options);

// Checks the flags against the graphs that are to be executed, before anything runs. Inputs are
// checked where they are read (inputs/).
Problem CheckOptions(const plan::Plan& plan, const std::vector<const plan::Graph*>& graphs,
                     const Options& options, const cluster::Peers* machines);

// Executes a graph as often as asked, keeps `inflight` executions in progress, and measures.
// `graph` is an index into the plan's; `training` says with which execution the run begins and
// ends, and what is done in between.
void Run(Engine& engine, uint32_t graph, Inputs& inputs, Training& training, const Options& options,
         Outcome& outcome);

// Executes a graph that repeats until it is done, at its limit, or `stopped`, which any thread may
// set: the run ends behind the round in progress.
void RunRounds(Engine& engine, uint32_t graph, Inputs& inputs, const Options& options,
               const std::atomic<bool>& stopped, Outcome& outcome);

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_PHASES_H_
