// Rounds at a rank that shares no memory with rank 0, which submits them.
#ifndef CGRAPH_RUNTIME_ENGINE_ROUND_RECEIVER_H_
#define CGRAPH_RUNTIME_ENGINE_ROUND_RECEIVER_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/cluster/message.h"
#include "runtime/engine/ending.h"
#include "runtime/execute/workers.h"
#include "runtime/load/loaded_plan.h"

namespace cgraph::engine {

// Makes the poison flags of a frame those of a round that begins in it. kFailed where a device
// cannot clear those that it keeps for itself: that ends the engine.
Status ResetFlags(const LoadedPlan& loaded, const LoadedGraph& graph,
                  const cluster::RoundMessage& round, Frame& frame);

// RoundReceiver: gives the rounds that rank 0 has submitted to the work queues of this rank.
class RoundReceiver {
 public:
  RoundReceiver(const LoadedPlan& loaded, const Workers& workers, Ending& ending)
      : loaded_(loaded), workers_(workers), ending_(ending) {}

  // `extents`: bytes of those that the inputs have.
  void Accept(uint32_t graph, const cluster::RoundMessage& round, std::string_view extents);

 private:
  const LoadedPlan& loaded_;
  const Workers& workers_;
  Ending& ending_;
  std::vector<uint32_t> next_frame_;  // by graph
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_ROUND_RECEIVER_H_
