// Renumber: rows of a graph's tables get other ids, or are removed, and everything that refers to
// them follows: ports, buckets, rules, views, dimensions, `after`. Passes that add rows append
// them, with the ids that they have then, and give the order afterwards.
#ifndef CGRAPH_COMPILER_GRAPH_RENUMBER_H_
#define CGRAPH_COMPILER_GRAPH_RENUMBER_H_

#include <vector>

#include "compiler/graph/graph.h"

namespace cgraph::graph {

// Renumbering: the new id by old id, invalid for a row that is removed; the new ones are 0, 1, ...
// without a gap. An empty list: that table stays as it is.
struct Renumbering {
  std::vector<SymbolId> symbols;
  std::vector<ValueId> values;
  std::vector<OpId> ops;
  std::vector<CallId> calls;
};

// Applies new ids. Only removed rows may refer to removed rows. Buckets are an exception: they lose
// those values, and are removed where fewer than two are left.
void Renumber(Graph& graph, const Renumbering& ids);

// Returns the ids of the kept rows, in their present order.
template <typename IdType>
std::vector<IdType> IdsOfKept(const std::vector<bool>& kept) {
  std::vector<IdType> ids(kept.size());
  size_t next = 0;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (kept[i]) ids[i] = IdType(next++);
  }
  return ids;
}

// Returns the ids of rows in another order, which names each of them once.
template <typename IdType>
std::vector<IdType> IdsByOrder(const std::vector<IdType>& order) {
  std::vector<IdType> ids(order.size());
  for (size_t i = 0; i < order.size(); ++i) ids[order[i].index] = IdType(i);
  return ids;
}

}  // namespace cgraph::graph

#endif  // CGRAPH_COMPILER_GRAPH_RENUMBER_H_
