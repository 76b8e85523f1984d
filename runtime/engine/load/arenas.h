// Arenas: where the values of all graphs lie in memory.
//
// Values of collectives that devices carry out by themselves are in memory of the kind `symmetric`,
// whatever the plan says. One block per device and kind of memory holds the slots (as many copies
// as the plan states), constants and scratch of every graph, the states of the device's actors,
// which all graphs share, and one block of inputs per frame. Output arenas have no place here: each
// run brings a block of its own.
#ifndef CGRAPH_RUNTIME_ENGINE_LOAD_ARENAS_H_
#define CGRAPH_RUNTIME_ENGINE_LOAD_ARENAS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/engine/load/communication/native_collectives.h"
#include "runtime/engine/loaded_graph.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status.h"

namespace cgraph::engine {

class Arenas {
 public:
  // Returns how many frames a graph needs for `progress` executions in progress and its lags: a
  // multiple of every arena's copies. kUnsupported when the copies have no reasonable common
  // multiple.
  static Result<uint32_t> Frames(const plan::Graph& graph, uint32_t progress);

  // Lays out and allocates everything, fills the constants, and sets the graphs' output offsets.
  // The graphs' `plan` and `frames` must be set. `elsewhere`: devices that another process serves,
  // which shares no memory with this one; theirs is not allocated, and has no addresses.
  Status Allocate(const plan::Plan& plan,
                  const std::vector<std::unique_ptr<device::Device>>& devices,
                  std::vector<std::unique_ptr<LoadedGraph>>& graphs,
                  const NativeCollectives& native, const std::vector<bool>& elsewhere);

  // Returns null when the value lies in the run's output block; OutputOffset() says where in it.
  void* Address(uint32_t graph, uint32_t value, uint32_t frame) const;
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
  void LayOutGraph(LoadedGraph& graph, std::vector<BlockAddress>& places);
  Status AllocateBlocks(const plan::Plan& plan, const std::vector<bool>& elsewhere);
  std::string WhatIsIn(const plan::Plan& plan, uint32_t block) const;
  const BlockAddress& PlaceOf(uint32_t graph, uint32_t value) const;
  Status FillConstants();

  std::vector<device::Device*> devices_;
  const NativeCollectives* native_ = nullptr;      // while memory is laid out
  std::vector<device::BumpLayout> layouts_;        // per block: device, then kind of memory
  std::vector<uint64_t> state_bytes_;              // of these, of states
  std::vector<device::Memory> blocks_;
  std::vector<BlockAddress> states_;                  // per actor
  std::vector<std::vector<BlockAddress>> places_;     // per graph, per arena
  std::vector<const LoadedGraph*> graphs_;
  uint64_t bytes_ = 0;
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_LOAD_ARENAS_H_
