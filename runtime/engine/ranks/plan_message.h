// PlanMessage: what a rank of another node loads, as rank 0 tells it: its part of a proved plan,
// and what all ranks must agree on that is not in the part.
#ifndef CGRAPH_RUNTIME_ENGINE_RANKS_PLAN_MESSAGE_H_
#define CGRAPH_RUNTIME_ENGINE_RANKS_PLAN_MESSAGE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <cgraph/engine.h>

#include "runtime/base/status.h"
#include "runtime/device/gpus.h"
#include "runtime/plan/node_parts.h"
#include "runtime/plan/placement.h"

namespace cgraph::engine {

struct PlanMessage {
  EngineOptions options;  // those that other ranks need, and the GPU of each device that has one
  uint32_t first_tag = 0;
  plan::Placement placement;
  std::vector<plan::GraphTotals> totals;  // by graph; the start graph is the last
  plan::NodePart part;
};

// PlanHead: the beginning of the text. The options follow, then the GPU of each device that has
// one, the placement, the totals of whole graphs, and the rank's part of the plan.
struct PlanHead {
  uint32_t first_tag;
  uint64_t options_bytes, gpus;
  uint32_t workers, work_queues, lanes, graphs, communicators, weights;
};

// SharedText: what the messages to all ranks have in common.
struct SharedText {
  PlanHead head;
  std::string text;  // between the head and the rank's own part
};
SharedText MakeSharedText(const EngineOptions& options, uint32_t first_tag,
                          const device::GpuMap& gpus, const plan::Placement& placement,
                          const std::vector<plan::GraphTotals>& totals);

// Returns the text of the message of kind kPlan to a rank.
std::string TextFor(const SharedText& shared, const plan::NodePart& part);

// Reads that text. kInvalid where it is not as rank 0 writes one.
Result<PlanMessage> ReadPlanMessage(std::string_view text);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_RANKS_PLAN_MESSAGE_H_
