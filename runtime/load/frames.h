// FrameOperands: collects the operands of steps, then fills every frame with their addresses.
#ifndef CGRAPH_RUNTIME_LOAD_FRAMES_H_
#define CGRAPH_RUNTIME_LOAD_FRAMES_H_

#include <cstdint>
#include <map>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/shared_heap.h"
#include "runtime/load/arenas.h"
#include "runtime/load/loaded_graph.h"
#include "runtime/plan/graph_index.h"

namespace cgraph::engine {

bool InOutput(const plan::Graph& graph, uint32_t value);  // lies in an output arena
// Returns whether inputs give all extents of a value; `given`: by symbol, whether an input does.
bool HasGivenDims(const plan::Graph& graph, uint32_t value, const std::vector<bool>& given);
std::vector<bool> GivenSymbols(const plan::Graph& graph);

// Describes the inputs, and those dims of outputs that submission knows.
void DescribePorts(const plan::Graph& plan, LoadedGraph& graph);

class FrameOperands {
 public:
  explicit FrameOperands(const plan::GraphIndex& index);

  // Adds the graph's operands [first, first + count), used by `instruction`; returns where they lie
  // among the tensors of a frame. Their dynamic dimensions are appended to `uses`, except those
  // whose extent the instruction itself makes. `reader`: the device that finds them there, if that
  // is another than the instruction's.
  Slice Add(uint32_t first, uint32_t count, uint32_t instruction, std::vector<DynamicDim>& uses,
            uint32_t reader = plan::kNone);

  // Fills the frames of the engine's graph `number`; their poison flags lie in memory of `host`,
  // the caller's device, what else lanes share in the heap.
  Status Fill(const Arenas& arenas, device::Device& host, device::SharedHeap& heap,
              const RankView& view, uint32_t number, LoadedGraph& graph) const;

 private:
  uint32_t ExtentSlot(uint32_t symbol, uint32_t device);
  bool Makes(uint32_t instruction, uint32_t value);
  void FindPorts();
  Status MakeShared(device::SharedHeap& heap, const LoadedGraph& graph, Frame& frame) const;
  void FillFrame(const Arenas& arenas, const RankView& view, uint32_t number, uint32_t at,
                 LoadedGraph& graph) const;

  const plan::GraphIndex& index_;
  const plan::Graph& graph_;
  std::vector<uint32_t> tensors_;                // values
  std::vector<uint32_t> readers_;                // of these: devices
  std::vector<uint32_t> extents_;                // indices of the graph's extents
  std::vector<uint32_t> slot_of_extent_;         // per extent of the graph: place in extents_
  std::map<uint64_t, uint32_t> extent_at_;       // symbol and device -> the graph's extent
  std::vector<uint32_t> port_of_buffer_;         // none: no input's
  std::vector<bool> given_;                      // per symbol: by an input
  uint32_t made_by_ = plan::kNone;
  std::vector<uint32_t> made_;                   // what that instruction writes, sorted
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_FRAMES_H_
