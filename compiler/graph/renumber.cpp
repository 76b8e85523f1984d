#include "compiler/graph/renumber.h"

#include <algorithm>
#include <utility>

namespace cgraph::graph {
namespace {

template <typename IdType>
void Follow(IdType& id, const std::vector<IdType>& ids) {
  if (id.valid() && !ids.empty()) id = ids[id.index];
}

// Returns for each new id where its row stood.
template <typename IdType>
std::vector<IdType> Sources(const std::vector<IdType>& ids) {
  std::vector<IdType> from(ids.size());
  size_t count = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!ids[i].valid()) continue;
    from[ids[i].index] = IdType(i);
    ++count;
  }
  from.resize(count);
  return from;
}

template <typename IdType, typename Row>
void MoveRows(Table<IdType, Row>& table, const std::vector<IdType>& ids) {
  if (ids.empty()) return;
  Table<IdType, Row> moved;
  for (const IdType id : Sources(ids)) moved.Add(std::move(table[id]));
  table = std::move(moved);
}

void RenumberRules(std::optional<Rules>& rules, const std::vector<CallId>& calls) {
  if (!rules || calls.empty()) return;
  std::vector<CallRule> moved;
  for (const CallId id : Sources(calls)) moved.push_back(std::move(rules->calls[id.index]));
  for (CallRule& rule : moved) Follow(rule.fused, calls);
  rules->calls = std::move(moved);
}

void RenumberBuckets(std::vector<Bucket>& buckets, const std::vector<ValueId>& values) {
  if (values.empty()) return;
  for (Bucket& bucket : buckets) {
    for (ValueId& value : bucket.values) Follow(value, values);
    std::erase_if(bucket.values, [](ValueId value) { return !value.valid(); });
  }
  std::erase_if(buckets, [](const Bucket& bucket) { return bucket.values.size() < 2; });
}

}  // namespace

void Renumber(Graph& graph, const Renumbering& ids) {
  MoveRows(graph.symbols, ids.symbols);
  MoveRows(graph.values, ids.values);
  MoveRows(graph.ops, ids.ops);
  MoveRows(graph.calls, ids.calls);
  for (Symbol& symbol : graph.symbols) Follow(symbol.extent, ids.values);
  for (Value& value : graph.values) {
    Follow(value.producer, ids.ops);
    Follow(value.base, ids.values);
    for (Dim& dim : value.type.dims) Follow(dim.symbol, ids.symbols);
  }
  for (Op& op : graph.ops) {
    Follow(op.call, ids.calls);
    for (ValueId& result : op.results) Follow(result, ids.values);
    for (Use& operand : op.operands) Follow(operand.value, ids.values);
  }
  for (Call& call : graph.calls) {
    for (CallId& before : call.after) Follow(before, ids.calls);
    Follow(call.derived_from, ids.calls);
    std::sort(call.after.begin(), call.after.end());
  }
  for (Port& port : graph.inputs) Follow(port.use.value, ids.values);
  for (Port& port : graph.outputs) Follow(port.use.value, ids.values);
  RenumberBuckets(graph.buckets, ids.values);
  RenumberRules(graph.rules, ids.calls);
}

}  // namespace cgraph::graph
