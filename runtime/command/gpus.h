// The GPUs of this machine: which of them serve a plan, what is said where none do, and the list
// that `cgrun --devices` prints.
#ifndef CGRAPH_RUNTIME_COMMAND_GPUS_H_
#define CGRAPH_RUNTIME_COMMAND_GPUS_H_

#include <string>
#include <vector>

#include "runtime/cluster/launcher.h"
#include "runtime/command/messages.h"
#include "runtime/command/options.h"
#include "runtime/device/gpus.h"
#include "runtime/plan/plan.h"

namespace cgraph::command {

struct GpuPlacement {
  device::GpuMap gpus;
  // For standard error: that gpus run on CPU threads though no map asks for it; later phases add
  // what they have to say.
  std::vector<std::string> notes;
};

// Maps the plan's devices by --device-map, and checks --require-gpu. Drivers are asked for GPUs
// only where the plan has gpus; with `peers` (null: none) those of all nodes' machines.
Problem PlaceGpus(plan::Plan& plan, const Options& options, cluster::Peers* peers,
                  GpuPlacement& placement);

// Returns what another rank tells of its machine: who it is, then what it has for programs, a line
// each, then lines for people.
std::string DescribeDevices();
// --devices: prints what this machine has or, with `peers`, the machine of each rank.
ExitCode ListMachines(const Options& options, cluster::Peers* peers);

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_GPUS_H_
