// Rule 9: which instruction is before which, over all executions.
//
// D(x, y) is the least distance of a path from done(x) to start(y). Instead of all pairs, each node
// has a clock: for every lane the latest instruction that is known to be done, counted along the
// lane's endless list (position - distance * length). A lane runs in order, so one number answers
// for all instructions of the lane, and of a node's own lane none is needed: where a node waits for
// its lane alone, its clock is that of the node before. VectorClocks are the largest solution that
// the edges force, found in topological order and again around the edges that cross rounds until
// nothing changes. Credit edges are left out.
#ifndef CGRAPH_RUNTIME_PLAN_PROVE_VECTOR_CLOCKS_H_
#define CGRAPH_RUNTIME_PLAN_PROVE_VECTOR_CLOCKS_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/plan/prove/clock_trees.h"
#include "runtime/plan/prove/edges.h"

namespace cgraph::plan::prove {

inline constexpr int64_t kUnordered = std::numeric_limits<int64_t>::max();

class VectorClocks {
 public:
  // A node that another waits for, in the round `distance` rounds before.
  struct Source {
    uint32_t node = 0;
    uint32_t distance = 0;
  };

  // `order` is topological for the edges of distance 0 and has all nodes.
  VectorClocks(const ConstraintGraph& constraints, const std::vector<uint32_t>& order);

  // Whether the clocks fitted in memory that a proof may take; if not, too little is known.
  bool fitted() const { return fitted_; }

  // Returns D(x, y); kUnordered when there is no path.
  int64_t Distance(uint32_t x, uint32_t y) const;
  // Returns whether x of execution e is done before y of execution e + c starts, for every e.
  bool Before(uint32_t x, uint32_t y, int64_t c) const {
    const int64_t distance = Distance(x, y);
    return distance != kUnordered && distance <= c + Lag(y) - Lag(x);
  }
  // Returns the least c for which Before holds; kUnordered when there is none.
  int64_t LeastShift(uint32_t x, uint32_t y) const {
    const int64_t distance = Distance(x, y);
    return distance == kUnordered ? kUnordered : distance - Lag(y) + Lag(x);
  }

 private:
  int64_t Lag(uint32_t instruction) const {
    return constraints_.index().graph().instructions[instruction].lag();
  }
  void Add(Clock& clock, uint32_t node, const Source& source);

  const ConstraintGraph& constraints_;
  const int32_t stride_;  // instructions of the longest lane
  ClockTrees trees_;
  std::vector<Clock> clocks_;  // by node
  bool fitted_ = true;
};

}  // namespace cgraph::plan::prove

#endif  // CGRAPH_RUNTIME_PLAN_PROVE_VECTOR_CLOCKS_H_
