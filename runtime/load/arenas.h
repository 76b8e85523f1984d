// Arenas: where the values of all graphs lie in memory.
//
// Values of collectives that devices carry out by themselves are in memory of the kind `symmetric`,
// whatever the plan says; where GPUs are of several ranks, what one may read of another's is in the
// kind `shareable`. One block per device and kind of memory holds the slots (as many copies
// as the plan states), constants and scratch of every graph, the states of the device's actors,
// which all graphs share, and one block of inputs per frame. Large inputs are in a block of their
// own, which is not touched before one of them is copied: callers mostly lend them. Output arenas
// have no place here: each execution brings a block of its own.
#ifndef CGRAPH_RUNTIME_LOAD_ARENAS_H_
#define CGRAPH_RUNTIME_LOAD_ARENAS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/device.h"
#include "runtime/load/loaded_graph.h"
#include "runtime/load/peers/peer_memory.h"
#include "runtime/load/peers/rank_view.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

class Arenas {
 public:
  // Returns how many frames a graph needs for `progress` executions in progress and its lags: a
  // multiple of every arena's copies. kUnsupported when the copies have no reasonable common
  // multiple.
  static Result<uint32_t> Frames(const plan::Graph& graph, uint32_t progress);

  // Lays out and allocates everything, fills the constants, and sets the graphs' output offsets.
  // The graphs' `plan` and `frames` must be set. `native`: by graph and arena, whether values of
  // collectives lie there that devices carry out by themselves. `elsewhere`: devices that another
  // process serves, which shares no memory with this one; theirs is not allocated, and has no
  // addresses. `view`: of ranks that share some.
  Status Allocate(const plan::Plan& plan,
                  const std::vector<std::unique_ptr<device::Device>>& devices,
                  std::vector<std::unique_ptr<LoadedGraph>>& graphs,
                  const std::vector<std::vector<bool>>& native, const std::vector<bool>& elsewhere,
                  const RankView& view);

  // Returns null when the value lies in the execution's output block; OutputOffset() says where in
  // it.
  void* Address(uint32_t graph, uint32_t value, uint32_t frame) const;
  // Returns where a device of this rank finds a value, which may be in memory of another GPU's
  // rank; null, too, where it does not.
  void* AddressFor(uint32_t reader, uint32_t graph, uint32_t value, uint32_t frame) const;
  // Returns whether the value, an input, lies in memory that is not touched yet.
  bool IsUntouched(uint32_t graph, uint32_t value) const;
  // Returns whether every rank finds the value at the address that this one does.
  bool HasOneAddress(uint32_t graph, uint32_t value) const;
  // Returns whether a device may read another one's memory.
  bool Reaches(uint32_t reader, uint32_t owner) const {
    return peers_.Reaches(*all_devices_, reader, owner);
  }
  // Closes what was opened of other ranks' memory; no operation is pending.
  void ClosePeers() { peers_.Close(); }
  uint64_t OutputOffset(uint32_t graph, uint32_t value) const;

  // Returns the block that the value lies in, and so its device.
  const device::Memory& BlockOf(uint32_t graph, uint32_t value) const;
  device::Device& DeviceOf(uint32_t graph, uint32_t value) const;

  // Where an actor's states lie.
  struct StateAddress {
    device::Device* device = nullptr;
    const device::Memory* block = nullptr;
    uint64_t offset = 0;
  };
  StateAddress StatesOf(uint32_t actor) const;

  uint64_t bytes() const { return bytes_; }

 private:
  struct BlockAddress {
    uint32_t block = 0;
    uint64_t offset = 0;  // in the block
    uint64_t stride = 0;  // from one copy to the next
    uint32_t copies = 1;
  };
  void LayOutStates(const plan::Plan& plan,
                    const std::vector<std::unique_ptr<LoadedGraph>>& graphs);
  plan::Memory KindOf(const LoadedGraph& graph, uint32_t arena) const;
  bool MayStayUntouched(const LoadedGraph& graph, uint32_t arena) const;
  void LayOutGraph(LoadedGraph& graph, std::vector<BlockAddress>& places);
  Status AllocateBlocks(const plan::Plan& plan, const std::vector<bool>& elsewhere);
  Status OpenPeers(const RankView& view);
  void* AddressIn(std::byte* block, uint32_t graph, uint32_t value, uint32_t frame) const;
  std::string WhatIsIn(const plan::Plan& plan, uint32_t block) const;
  const BlockAddress& PlaceOf(uint32_t graph, uint32_t value) const;
  Status FillConstants();

  const std::vector<std::unique_ptr<device::Device>>* all_devices_ = nullptr;
  std::vector<device::Device*> devices_;
  PeerMemory peers_;
  const RankView* view_ = nullptr;                          // while memory is laid out
  const std::vector<std::vector<bool>>* native_ = nullptr;  // while memory is laid out
  std::vector<device::BumpLayout> layouts_;        // per block: device, then kind of memory
  std::vector<uint64_t> state_bytes_;              // of these, of states
  std::vector<device::Memory> blocks_;
  std::vector<BlockAddress> states_;                  // per actor
  std::vector<std::vector<BlockAddress>> places_;     // per graph, per arena
  std::vector<const LoadedGraph*> graphs_;
  uint64_t bytes_ = 0;
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_ARENAS_H_
