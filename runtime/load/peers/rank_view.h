// RankView: what loading a plan has to know of the ranks of this machine, which share its host
// memory and have a GPU, or several, each.
#ifndef CGRAPH_RUNTIME_LOAD_PEERS_RANK_VIEW_H_
#define CGRAPH_RUNTIME_LOAD_PEERS_RANK_VIEW_H_

#include <cstdint>
#include <vector>

#include "runtime/cluster/shared/exchange.h"
#include "runtime/device/gpus.h"

namespace cgraph::engine {

struct RankView {
  cluster::Exchange* exchange = nullptr;  // null: no GPU of the plan is another rank's
  std::vector<uint32_t> rank_of_device;
  device::GpuMap gpus;  // of all ranks of this machine; empty where it has one rank

  // Returns whether no other rank of this machine has the device.
  bool IsHere(uint32_t device) const {
    return exchange == nullptr || rank_of_device[device] == exchange->rank();
  }
  bool OnGpu(uint32_t device) const { return gpus.contains(device); }
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_PEERS_RANK_VIEW_H_
