// Rule 9: what is before what, for ever.
//
// D(x, y) is the least distance of a path from done(x) to start(y). Instead of all pairs, each node
// has a clock: for every lane the latest instruction that is known to be done, counted along the
// lane's endless list (position - distance * length). A lane runs in order, so that one number
// answers for all instructions of the lane. VectorClocks are the largest solution that the edges
// force, found in topological order and again around the edges that cross rounds until nothing
// changes. Credit edges are left out.
#ifndef CGRAPH_RUNTIME_PLAN_PROVE_VECTOR_CLOCKS_H_
#define CGRAPH_RUNTIME_PLAN_PROVE_VECTOR_CLOCKS_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/plan/prove/edges.h"

namespace cgraph::plan::prove {

inline constexpr int64_t kUnordered = std::numeric_limits<int64_t>::max();

class VectorClocks {
 public:
  // Whether the clocks of a graph fit in memory that a proof may take.
  static bool Fit(const ConstraintGraph& constraints);

  // `order` is topological for the edges of distance 0 and has all nodes.
  VectorClocks(const ConstraintGraph& constraints, const Adjacency& out,
         const std::vector<uint32_t>& order);

  // D(x, y); kUnordered when there is no path.
  int64_t Distance(uint32_t x, uint32_t y) const;
  // x of execution e is done before y of execution e + c starts, for every e.
  bool Before(uint32_t x, uint32_t y, int64_t c) const {
    const int64_t distance = Distance(x, y);
    return distance != kUnordered && distance <= c + Lag(y) - Lag(x);
  }
  // The least c for which Before holds; kUnordered when there is none.
  int64_t LeastShift(uint32_t x, uint32_t y) const {
    const int64_t distance = Distance(x, y);
    return distance == kUnordered ? kUnordered : distance - Lag(y) + Lag(x);
  }

 private:
  int64_t Lag(uint32_t instruction) const {
    return constraints_.index().graph().instructions[instruction].lag();
  }
  bool Relax(const Edge& edge);
  int32_t* Row(uint32_t node) { return clocks_.data() + uint64_t{node} * columns_; }
  const int32_t* Row(uint32_t node) const { return clocks_.data() + uint64_t{node} * columns_; }

  const ConstraintGraph& constraints_;
  std::vector<uint32_t> column_;  // by lane: lanes without instructions have none
  std::vector<int64_t> lengths_;  // by column
  uint32_t columns_ = 0;
  std::vector<int32_t> clocks_;
};

}  // namespace cgraph::plan::prove

#endif  // CGRAPH_RUNTIME_PLAN_PROVE_VECTOR_CLOCKS_H_
