#include "runtime/engine/round_receiver.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace cgraph::engine {

Status ResetFlags(const LoadedPlan& loaded, const LoadedGraph& graph,
                  const cluster::RoundMessage& round, Frame& frame) {
  for (std::atomic<uint8_t>& poison_flag : frame.poison_flags) {
    poison_flag.store(round.empty, std::memory_order_relaxed);
  }
  frame.words->dirty.store(round.empty || graph.flags_unannounced, std::memory_order_relaxed);
  frame.words->empty.store(round.empty, std::memory_order_relaxed);
  Status cleared;
  for (size_t d = 0; round.failed && d < loaded.devices.size(); ++d) {
    Status own = loaded.devices[d]->ClearPoison(frame.bindings);
    if (cleared.ok()) cleared = std::move(own);
  }
  return cleared;
}

void RoundReceiver::Accept(uint32_t g, const cluster::RoundMessage& round,
                           std::string_view extents) {
  if (g >= loaded_.graphs.size() || ending_.has_ended()) return;
  next_frame_.resize(loaded_.graphs.size(), 0);
  LoadedGraph& graph = *loaded_.graphs[g];
  Frame& frame = graph.frames[next_frame_[g]];
  if (g < loaded_.plan->graphs.size()) loaded_.kernels->weights().Release();  // start is over
  if (round.flagged) {
    for (FailureSlot& slot : frame.failures.slots) slot.Clear();
    if (Status reset = ResetFlags(loaded_, graph, round, frame); !reset.ok()) {
      ending_.End(std::move(reset));
    }
  }
  if (!extents.empty()) {
    std::memcpy(frame.taken.data(), extents.data(),
                std::min(extents.size(), frame.taken.size_bytes()));
  }
  for (uint32_t work_queue : graph.participants) {
    if (loaded_.HasWorkQueue(work_queue)) workers_.work_queues[work_queue]->inbox().Push(g);
  }
  if (++next_frame_[g] == graph.frames.size()) next_frame_[g] = 0;
}

}  // namespace cgraph::engine
