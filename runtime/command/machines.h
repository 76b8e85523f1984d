// The processes that a launcher of MPI programs has started, of which this may be one.
#ifndef CGRAPH_RUNTIME_COMMAND_MACHINES_H_
#define CGRAPH_RUNTIME_COMMAND_MACHINES_H_

#include <chrono>
#include <string>

#include "runtime/base/exit_code.h"
#include "runtime/base/status.h"
#include "runtime/cluster/launcher.h"
#include "runtime/command/messages.h"
#include "runtime/command/options.h"
#include "runtime/plan/plan.h"

namespace cgraph::command {

// Connects to the other processes of a launcher, if one has started this process; `*peers` is null
// otherwise. What goes wrong all processes of a machine find alike, and the first of them says it.
// Where that takes longer than `timeout` because a process is stopped, or longer than that and a
// minute, this process ends.
ExitCode ConnectMachines(std::chrono::nanoseconds timeout, cluster::Peers** peers);

// Serves the engines of rank 0 at another rank; returns the exit code, which is rank 0's.
// Interrupts, which launchers send to all, are rank 0's; here they stay blocked. `timeout` is as in
// ConnectMachines(), for the end.
int ServeMachine(cluster::Peers& peers, std::chrono::nanoseconds timeout);

// Ends the other ranks at rank 0, at the end of the process. Where one of them still computes for
// an engine that has ended, all are ended at once, this one too, with this exit code. `timeout` is
// as in ConnectMachines().
void EndMachines(cluster::Peers& peers, ExitCode code, std::chrono::nanoseconds timeout);

// Says to the other ranks, at rank 0, that this process ends at once and has said why; they end
// without a word then.
void SayEnds(cluster::Peers* peers);

// Refuses flags that say how devices of one machine are served.
Problem CheckMachineFlags(const Options& options);

// Refuses another number of processes than the plan has nodes.
Problem CheckProcessCount(const plan::Plan& plan, const cluster::Peers& peers);

// Returns a note about where a plan's nodes run; empty: there is none.
std::string NoteOfNodes(const plan::Plan& plan, const Options& options,
                        const cluster::Peers* peers);

// Returns a note about processes whose death this one would not hear of; empty: there is none.
std::string NoteOfUnsupervised(const cluster::Peers* peers);

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_MACHINES_H_
