// Comm steps: what a work queue does to send, receive and take part in collectives.
#ifndef CGRAPH_RUNTIME_LOAD_COMMUNICATION_COMM_STEPS_H_
#define CGRAPH_RUNTIME_LOAD_COMMUNICATION_COMM_STEPS_H_

#include <cstdint>
#include <vector>

#include "runtime/load/communication/communications.h"
#include "runtime/load/frames.h"
#include "runtime/load/loaded_graph.h"
#include "runtime/load/poison/poison.h"
#include "runtime/load/preparation.h"
#include "runtime/load/step.h"
#include "runtime/plan/graph_index.h"

namespace cgraph::engine {

// CommSource: what is known of a graph whose communications become steps.
struct CommSource {
  const Preparation& preparation;
  uint32_t number;  // of the graph
  const plan::GraphIndex& index;
  const PoisonFlags& poison_flags;
  const Communications& made;
  const std::vector<uint32_t>& queue_of;  // per instruction
  FrameOperands& operands;                // in which the steps' are put
  LoadedGraph& graph;
};

// Adds communications that happen together to the program of a work queue: a step for each device
// queue, and one for all that the work queue drives itself. `has_operands`: not where another
// machine runs them.
void AddCommSteps(const CommSource& source, bool has_operands,
                  const std::vector<uint32_t>& instructions, StepList& program);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_COMMUNICATION_COMM_STEPS_H_
