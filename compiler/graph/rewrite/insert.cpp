#include "compiler/graph/rewrite/passes.h"

#include <algorithm>
#include <utility>

#include "compiler/graph/renumber.h"

namespace cgraph::graph {
namespace {

// Returns each row by old id, and behind it those that are inserted after it. Inserted rows have
// been appended.
template <typename IdType, typename After>
std::vector<IdType> OrderOf(size_t old, size_t inserted, After after) {
  std::vector<IdType> order;
  size_t next = 0;
  for (size_t i = 0; i < old; ++i) {
    for (; next < inserted && !after(next, i); ++next) order.push_back(IdType(old + next));
    order.push_back(IdType(i));
  }
  for (; next < inserted; ++next) order.push_back(IdType(old + next));
  return order;
}

}  // namespace

void Insert(Graph& graph, std::vector<Insertion> insertions) {
  std::stable_sort(insertions.begin(), insertions.end(),
                   [](const Insertion& a, const Insertion& b) { return a.after < b.after; });
  const size_t ops = graph.ops.size(), calls = graph.calls.size(), count = insertions.size();
  // The ops of one call must stand together, and calls in the order of their ops.
  const std::vector<OpId> op_order = OrderOf<OpId>(ops, count, [&](size_t next, size_t op) {
    return insertions[next].after >= graph.ops[OpId(op)].call;
  });
  const std::vector<CallId> call_order =
      OrderOf<CallId>(calls, count, [&](size_t next, size_t call) {
        return insertions[next].after >= CallId(call);
      });
  for (Insertion& insertion : insertions) {
    insertion.op.call = graph.calls.Add(std::move(insertion.call));
    for (ValueId result : insertion.op.results) {
      graph.values[result].producer = OpId(graph.ops.size());
    }
    graph.ops.Add(std::move(insertion.op));
    if (graph.rules) graph.rules->calls.emplace_back();
  }
  Renumber(graph, {.ops = IdsByOrder(op_order), .calls = IdsByOrder(call_order)});
}

}  // namespace cgraph::graph
