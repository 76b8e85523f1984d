// LeastCut: the smallest capacity that leaves any set of nodes of a directed network.
//
// No ring and no tree through all nodes carries more, whatever its order. Found in three steps:
// single nodes; nodes that are equal to each other (same capacities to and from all others) become
// one, over and over, which leaves one node of most machines, since a least cut that is no single
// node never parts equal ones; and flows from a growing set to each further node and back, where
// direct ways and those over one node mostly show that no smaller cut parts the two.
#ifndef CGRAPH_COMPILER_COST_GROUP_LEAST_CUT_H_
#define CGRAPH_COMPILER_COST_GROUP_LEAST_CUT_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace cgraph::cost {

struct Arc {
  uint32_t from, to;
  uint64_t capacity;
};

// Returns the least cut of a network of at least two nodes, whose capacities sum to less than 2^64.
// It returns nothing where that would take too long: hundreds of nodes with many unequal arcs.
std::optional<uint64_t> LeastCut(uint32_t nodes, std::vector<Arc> arcs);

}  // namespace cgraph::cost

#endif  // CGRAPH_COMPILER_COST_GROUP_LEAST_CUT_H_
