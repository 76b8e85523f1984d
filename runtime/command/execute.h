// The run from end to end: loads the plan and its inputs, executes, and reports the results.
#ifndef CGRAPH_RUNTIME_COMMAND_EXECUTE_H_
#define CGRAPH_RUNTIME_COMMAND_EXECUTE_H_

#include "runtime/base/exit_code.h"
#include "runtime/cluster/launcher.h"
#include "runtime/command/options.h"
#include "runtime/command/signals.h"

namespace cgraph::command {

// Returns the exit code of the command; errors have been printed. Where a kernel never returns,
// this function does not return either: the process ends in it. `machines`: the other ranks, where
// a launcher has started this process, or null.
ExitCode Execute(const Options& options, cluster::Peers* machines, Signals& signals);

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_EXECUTE_H_
