// PeerMemory: memory of GPUs that GPUs of other ranks read where it lies. Which those are follows
// from the plan; whether they can, each pair of them finds out when the plan is loaded. Where they
// cannot, what they exchange goes through host memory.
#ifndef CGRAPH_RUNTIME_LOAD_PEERS_PEER_MEMORY_H_
#define CGRAPH_RUNTIME_LOAD_PEERS_PEER_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/device.h"
#include "runtime/load/loaded_graph.h"
#include "runtime/load/peers/rank_view.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

class PeerMemory {
 public:
  using Devices = std::vector<std::unique_ptr<device::Device>>;

  // Finds which devices read memory of others, by the plan.
  void Find(const plan::Plan& plan, const std::vector<std::unique_ptr<LoadedGraph>>& graphs,
            const RankView& view);
  // Returns whether a device's memory is read by GPUs of other ranks.
  bool Exports(uint32_t device) const { return exporters_.contains(device); }

  // Opens the memory, of all ranks at once. `blocks`: by device, what is exported of it; null:
  // nothing. kLost where another rank has ended.
  Status Open(const Devices& devices, std::span<const device::Memory* const> blocks,
              const RankView& view);
  // Closes what this rank has opened; no operation is pending.
  void Close() { imported_.clear(); }

  // Returns whether a device may read another one's memory. All ranks say the same.
  bool Reaches(const Devices& devices, uint32_t reader, uint32_t owner) const;
  // Returns where a device of this rank finds the exported block of another one; null: nowhere.
  std::byte* AddressOf(uint32_t reader, uint32_t owner) const;

 private:
  using Pair = std::pair<uint32_t, uint32_t>;  // reader, owner
  void Import(const Devices& devices, const RankView& view);
  Status Agree(const Devices& devices, const RankView& view);

  std::set<Pair> pairs_;  // of different ranks
  std::set<uint32_t> exporters_;
  // By device: what its rank has exported, if anything.
  struct Exported {
    bool any = false;
    device::ExportedMemory memory;
  };
  std::vector<Exported> exported_;
  std::map<Pair, device::Memory> imported_;
  std::vector<bool> reaches_;  // reader * devices + owner; none: the devices say it
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_PEERS_PEER_MEMORY_H_
