// BoundedFlow: the maximum flow from a growing set of nodes to another node, as far as it is less
// than a bound. Uses Dinic's algorithm, after a look at ways of one and of two arcs.
#ifndef CGRAPH_COMPILER_COST_GROUP_BOUNDED_FLOW_H_
#define CGRAPH_COMPILER_COST_GROUP_BOUNDED_FLOW_H_

#include <cstdint>
#include <vector>

namespace cgraph::cost {

struct Arc;

class BoundedFlow {
 public:
  // `turned`: every arc leads the other way. No two arcs have the same ends.
  BoundedFlow(uint32_t nodes, const std::vector<Arc>& arcs, bool turned);

  void Join(uint32_t node);
  bool has(uint32_t node) const { return joined_[node]; }
  uint64_t direct(uint32_t node) const { return direct_[node]; }  // from the set

  // Returns the flow to a node that has not joined, or `bound` if it is at least that. The arcs
  // that it looks at are subtracted from `steps`; when none are left the result is meaningless.
  uint64_t To(uint32_t target, uint64_t bound, uint64_t& steps);

 private:
  struct Way {
    uint32_t to, back;  // the position of the way back
    uint64_t capacity, left;
  };
  bool FindLevels(uint32_t target, uint64_t& steps);
  uint64_t Push(uint32_t node, uint32_t target, uint64_t most, uint64_t& steps);
  bool Spend(uint64_t& steps) const { return steps > 0 && --steps > 0; }
  void Restore();

  std::vector<uint32_t> first_;  // by node, into ways_
  std::vector<Way> ways_;
  std::vector<bool> joined_;
  std::vector<uint32_t> set_;
  std::vector<uint64_t> direct_;
  std::vector<uint32_t> levels_, next_, changed_;
};

}  // namespace cgraph::cost

#endif  // CGRAPH_COMPILER_COST_GROUP_BOUNDED_FLOW_H_
