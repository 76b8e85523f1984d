// RankView: what loading a plan has to know of the ranks of this machine, which share its host
// memory and have a GPU, or several, each; and stand-ins for the GPUs of other ranks.
#ifndef CGRAPH_RUNTIME_LOAD_PEERS_RANK_VIEW_H_
#define CGRAPH_RUNTIME_LOAD_PEERS_RANK_VIEW_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/cluster/shared/exchange.h"
#include "runtime/device/device.h"
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

// Returns what stands for a GPU that another rank serves, of this machine or of another one
// (absent_gpu.cpp). `shared`: what ranks of this machine share; null where the GPU is another
// machine's.
std::unique_ptr<device::Device> MakeAbsentGpu(
    std::shared_ptr<device::MemorySource> shared = nullptr);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_PEERS_RANK_VIEW_H_
