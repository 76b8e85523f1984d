// Messages: what NCCL carries from a gpu to one of another machine is in a plan a broadcast to one,
// whose root leaves its own output out. Drawings show it as the message that it is.
#ifndef CGRAPH_COMPILER_INSPECT_DRAW_FACTS_MESSAGES_H_
#define CGRAPH_COMPILER_INSPECT_DRAW_FACTS_MESSAGES_H_

#include <cstdint>
#include <memory>

#include "runtime/plan/plan.h"

namespace cgraph {

// Returns a copy of the plan in which such broadcasts of a graph are sends and receives of channels
// of their own; all instructions keep their places. Null where there are none.
std::unique_ptr<plan::Plan> WithMessages(const plan::Plan& plan, uint32_t graph);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_DRAW_FACTS_MESSAGES_H_
