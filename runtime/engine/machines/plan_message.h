// PlanMessage: what a rank of another node loads, as rank 0 tells it: its part of a proved plan,
// and what all ranks must agree on that is not in the part.
#ifndef CGRAPH_RUNTIME_ENGINE_MACHINES_PLAN_MESSAGE_H_
#define CGRAPH_RUNTIME_ENGINE_MACHINES_PLAN_MESSAGE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/engine/machines/message.h"
#include "runtime/plan/node_parts.h"
#include "runtime/status/status.h"
#include "runtime/workers/placement.h"

namespace cgraph::engine {

struct PlanMessage {
  EngineOptions options;  // those that other ranks need, and the GPU of each device that has one
  uint32_t first_tag = 0;
  workers::Placement placement;
  std::vector<plan::GraphTotals> totals;  // by graph; the start graph is the last
  plan::NodePart part;
};

// SharedText: what the messages to all ranks have in common.
struct SharedText {
  MachineMessage head;
  std::string text;  // all but the rank's own part, which follows
};
SharedText MakeSharedText(const EngineOptions& options, uint32_t first_tag,
                          const device::GpuMap& gpus, const workers::Placement& placement,
                          const std::vector<plan::GraphTotals>& totals);

// Returns the text of the message to a rank.
std::string TextFor(MachineMessage& head, const SharedText& shared, const plan::NodePart& part);

// Reads a message of kind kPlan. kInvalid where it is not as rank 0 writes one.
Result<PlanMessage> ReadPlanMessage(const MachineMessage& message, std::string_view text);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_MACHINES_PLAN_MESSAGE_H_
