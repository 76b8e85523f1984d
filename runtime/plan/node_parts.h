// NodeParts: what the rank of one node needs of a plan, as a plan of its own.
//
// A part has the node's own lanes whole. Of the lanes of other nodes it has the ends of messages
// that come from here or go here, and their members of collectives that one of the node's lanes
// takes part in: the sizes and ranks of communications are read from these. What instructions refer
// to is renumbered, but for what ranks name to each other: devices, lanes, actors, ports, symbols,
// arenas, channels, communicators and graphs keep their numbers, and instructions their order.
//
// A part cannot be checked or proved. It is made of a plan that was.
#ifndef CGRAPH_RUNTIME_PLAN_NODE_PARTS_H_
#define CGRAPH_RUNTIME_PLAN_NODE_PARTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/plan/graph_index.h"
#include "runtime/plan/plan.h"

namespace cgraph::plan {

// Flag of a part of a comm, in parts of plans alone: the lane is on another node, and what it sends
// may be poisoned.
inline constexpr uint8_t kMayBePoisoned = 2;

// GraphTotals: what all ranks must know of the whole graph.
struct GraphTotals {
  uint32_t lag = 0;                   // the most of any instruction
  bool may_fail = false;              // some operation, on whatever node
  std::vector<uint32_t> collectives;  // by communicator: those of a round
};

struct NodePart {
  std::unique_ptr<Plan> plan;
  std::vector<uint32_t> weights;  // the number in the whole plan of each slice of a weight file
};

class GraphParts;

class NodeParts {
 public:
  // The plan must have passed CheckPlan, and stays as it is.
  explicit NodeParts(const Plan& plan);
  ~NodeParts();

  NodePart Of(uint32_t node);
  // By graph; the start graph is the last.
  const std::vector<GraphTotals>& totals() const { return totals_; }

 private:
  const Plan& plan_;
  std::vector<std::unique_ptr<GraphParts>> graphs_;
  std::vector<GraphTotals> totals_;
};

}  // namespace cgraph::plan

#endif  // CGRAPH_RUNTIME_PLAN_NODE_PARTS_H_
