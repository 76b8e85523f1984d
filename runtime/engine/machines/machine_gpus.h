// The GPUs of the machines that a launcher's processes are on, as rank 0 asks for them before a
// plan is loaded: which device runs on a GPU is told to all ranks with the plan.
#ifndef CGRAPH_RUNTIME_ENGINE_MACHINES_MACHINE_GPUS_H_
#define CGRAPH_RUNTIME_ENGINE_MACHINES_MACHINE_GPUS_H_

#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/ranks/launcher.h"
#include "runtime/status/status.h"
#include "runtime/workers/device_map.h"

namespace cgraph::engine {

// Returns the machine of each node of the plan, by node; without `peers` this machine, which all
// nodes are on. Only those whose nodes have gpus with something to do are asked. kInvalid where a
// rank is no node's or a node no rank's, kLost where a rank is gone, kTimeout where one does not
// answer.
Result<std::vector<workers::Machine>> FindMachines(const plan::Plan& plan, ranks::Peers* peers);

// Returns what each other rank says of its machine, by what its ServeMachine() was given; nothing
// of rank 0 itself. Errors as above.
Result<std::vector<std::string>> DescribeMachines(ranks::Peers& peers);

// Answers rank 0 at another rank.
void TellGpus(ranks::Messenger& messenger);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_MACHINES_MACHINE_GPUS_H_
