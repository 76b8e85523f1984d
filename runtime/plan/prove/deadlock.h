// Rule 8: no cycle of edges of distance 0, or the shortest such cycle.
#ifndef CGRAPH_RUNTIME_PLAN_PROVE_DEADLOCK_H_
#define CGRAPH_RUNTIME_PLAN_PROVE_DEADLOCK_H_

#include <vector>

#include "runtime/plan/prove.h"
#include "runtime/plan/prove/edges.h"

namespace cgraph::plan::prove {

// All nodes, each after the ones from which an edge of distance 0 leads to it. Shorter than the
// number of nodes when there is a cycle: what is missing is on one, or behind one.
std::vector<uint32_t> TopologicalOrder(const ConstraintGraph& constraints, const Adjacency& out);

// The verdict on a graph whose order is incomplete: the cycle, in source terms.
Verdict RefuseHang(const ConstraintGraph& constraints, const Adjacency& out,
                   const std::vector<uint32_t>& order, const std::string& graph_name);

}  // namespace cgraph::plan::prove

#endif  // CGRAPH_RUNTIME_PLAN_PROVE_DEADLOCK_H_
