// The machines that a launcher's processes are on, as rank 0 asks for them before a plan is loaded:
// one for each node of the plan. The plan's message tells all ranks which devices run on GPUs.
#ifndef CGRAPH_RUNTIME_ENGINE_RANKS_MACHINES_H_
#define CGRAPH_RUNTIME_ENGINE_RANKS_MACHINES_H_

#include <cgraph/engine.h>

#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/cluster/launcher.h"
#include "runtime/device/gpus.h"
#include "runtime/plan/device_map.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

// Returns the number of nodes that a plan has devices of.
uint32_t NodesOf(const plan::Plan& plan);
// kInvalid where a launcher has started another number of processes.
Status CheckNodes(const plan::Plan& plan, const cluster::Peers& peers);
// Returns the error where the other ranks serve another engine.
Status OthersServeAnotherEngine();

// Returns the machine of each node of the plan, by node; without `peers` this machine, which all
// nodes are on. Asks only the machines whose nodes have gpus with something to do. kInvalid where a
// rank is no node's or a node no rank's, kLost where a rank is gone, kTimeout where one does not
// answer.
Result<std::vector<plan::Machine>> FindMachines(const plan::Plan& plan, cluster::Peers* peers);

// Returns the text that `describe` of ServeMachine() makes at each other rank, by rank; rank 0 has
// none. Errors as above.
Result<std::vector<std::string>> DescribeMachines(cluster::Peers& peers);

// At another rank: tells rank 0 which GPUs its machine has.
void TellGpus(cluster::Messenger& messenger);

// Returns the GPU of each device of the plan that runs on one, of this machine or, where there are
// `options.peers`, of its node's. kNotFound where the options require more GPUs than there are;
// kInvalid where they are shared out as no machine can.
Result<device::GpuMap> GpusFor(plan::Plan& plan, const EngineOptions& options);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_RANKS_MACHINES_H_
