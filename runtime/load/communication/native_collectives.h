// NativeCollectives: the collectives of a plan that devices carry out by themselves
// (device/communicator.h), found before memory is laid out: their values lie in memory of a kind of
// their own, `symmetric`, which is registered with the communicators.
#ifndef CGRAPH_RUNTIME_LOAD_COMMUNICATION_NATIVE_COLLECTIVES_H_
#define CGRAPH_RUNTIME_LOAD_COMMUNICATION_NATIVE_COLLECTIVES_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/cluster/links.h"
#include "runtime/device/communicator.h"
#include "runtime/device/device.h"
#include "runtime/device/gpus.h"
#include "runtime/load/loaded_graph.h"
#include "runtime/load/peers/rank_view.h"
#include "runtime/plan/graph_index.h"
#include "runtime/plan/node_parts.h"
#include "runtime/plan/placement.h"
#include "runtime/plan/plan.h"
#include "runtime/transport/collective.h"

namespace cgraph::engine {

class Arenas;

// MachineView: what making communicators has to know of the ranks of other machines.
struct MachineView {
  cluster::Links* links = nullptr;  // null: all ranks are on this machine
  uint32_t rank = 0;
  const device::GpuMap* gpus = nullptr;       // of all machines, as each counts its own
  std::span<const plan::GraphTotals> totals;  // by graph
};

class NativeCollectives {
 public:
  // Makes the communicators that devices have for collectives of the graphs, in the order of these.
  // Where ranks serve them, of this machine (`view`) or of several (`machines`), these agree on
  // each communicator and join it together. `elsewhere` says which devices are on other machines.
  // kFailed with the error of a device's library, kLost where another rank has ended, kTimeout
  // where one does not come.
  Status Find(const plan::Plan& plan, const std::vector<std::unique_ptr<device::Device>>& devices,
              const std::vector<std::unique_ptr<LoadedGraph>>& graphs,
              const std::vector<bool>& elsewhere, const RankView& view,
              const MachineView& machines);

  // Returns the communicator that carries out the collective of a graph whose first part is this
  // one, among all parts of collectives. Null: none does.
  std::shared_ptr<device::Communicator> Of(uint32_t graph, size_t first) const;
  // Returns how many collectives of a communicator, in a round of each graph, are carried out by
  // communicators of other ranks alone; known to rank 0.
  uint32_t CountElsewhere(uint32_t communicator) const {
    const auto found = elsewhere_.find(communicator);
    return found == elsewhere_.end() ? 0 : found->second;
  }
  // Returns whether some communicator has members on other machines.
  bool apart() const { return apart_; }
  // Returns in which arenas values of such collectives lie, by graph and arena.
  const std::vector<std::vector<bool>>& arenas() const { return arenas_; }

  // Registers the memory of each communicator's values where this can be: everywhere or nowhere.
  Status Register(const Arenas& arenas, const plan::Placement& placement);
  void Deregister();
  // Lets workers that issue give up waiting for others.
  void Stop();
  // Waits until what was aborted has ended (Communicator::Close); false where some has not.
  bool Close(std::chrono::nanoseconds stall_timeout);

 private:
  struct Member {
    uint32_t lane = 0;
    std::span<const uint32_t> inputs, outputs;  // values
  };
  struct Found {
    LoadedGraph* graph = nullptr;
    size_t first = 0;
    CollectiveKind kind = CollectiveKind::kBarrier;
    uint32_t root = 0;
    std::shared_ptr<device::Communicator> communicator;
    std::vector<Member> members;  // none: some are on other machines
  };
  struct Layout;
  // Of ranks of this machine. Where this rank has no member, the communicator is one that does
  // nothing.
  Status FindAmongRanks(const plan::Plan& plan,
                        const std::vector<std::unique_ptr<device::Device>>& devices,
                        const std::vector<std::unique_ptr<LoadedGraph>>& graphs,
                        const RankView& view);
  // Of ranks of several machines.
  Status FindAmongMachines(const plan::Plan& plan,
                           const std::vector<std::unique_ptr<device::Device>>& devices,
                           const std::vector<std::unique_ptr<LoadedGraph>>& graphs,
                           const MachineView& view);
  Status FindOne(LoadedGraph& graph, const plan::GraphIndex& index,
                 const std::vector<std::unique_ptr<device::Device>>& devices,
                 const std::vector<bool>& elsewhere, size_t first,
                 std::span<const plan::CollectivePart> parts);
  void Add(const plan::GraphIndex& index, std::span<const plan::CollectivePart> parts, Found found);
  // Adds a collective some of whose members are on other machines: its memory is not registered.
  void AddApart(Found found);
  void AddElsewhere(uint32_t communicator, uint32_t collectives) {
    elsewhere_.emplace(communicator, collectives);
  }
  void AddCommunicator(const std::shared_ptr<device::Communicator>& communicator);
  friend class CommunicatorsAmongRanks;
  friend class CommunicatorsAmongMachines;

  std::vector<Found> found_;  // in the order of the graphs and of their collectives
  std::map<uint32_t, uint32_t> elsewhere_;
  bool apart_ = false;
  std::vector<std::vector<bool>> arenas_;
  std::vector<std::shared_ptr<device::Communicator>> communicators_;
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_COMMUNICATION_NATIVE_COLLECTIVES_H_
