// Communicators of devices that ranks of several machines serve: as among_ranks.h, but no rank has
// the whole plan except rank 0.
//
// All ranks know which lanes each communicator has, and which devices run on GPUs. Of each
// communicator whose members are all on GPUs, on more than one machine, the ranks with members tell
// rank 0 whether they would join it, and the first member's rank an id. Where all would, rank 0
// tells them the id, and they join. The order of the communicators' numbers rules out that two
// ranks wait for each other.
#ifndef CGRAPH_RUNTIME_LOAD_COMMUNICATION_AMONG_MACHINES_H_
#define CGRAPH_RUNTIME_LOAD_COMMUNICATION_AMONG_MACHINES_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/cluster/links.h"
#include "runtime/device/device.h"
#include "runtime/device/gpus.h"
#include "runtime/load/communication/native_collectives.h"
#include "runtime/load/loaded_graph.h"
#include "runtime/plan/node_parts.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

struct MachineView {
  cluster::Links* links = nullptr;  // null: all ranks are on this machine
  uint32_t rank = 0;
  const device::GpuMap* gpus = nullptr;       // of all machines, as each counts its own
  std::span<const plan::GraphTotals> totals;  // by graph
};

// Adds the collectives that such communicators carry out. kFailed with the error of a device's
// library, kLost where another rank has ended, kTimeout where one does not come.
Status FindAmongMachines(const plan::Plan& plan,
                         const std::vector<std::unique_ptr<device::Device>>& devices,
                         const std::vector<std::unique_ptr<LoadedGraph>>& graphs,
                         const MachineView& view, NativeCollectives& found);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_COMMUNICATION_AMONG_MACHINES_H_
