#include "compiler/graph/prune.h"

namespace cgraph::graph {
namespace {

class Pruner {
 public:
  explicit Pruner(Graph& graph)
      : graph_(graph),
        live_values_(graph.values.size()),
        live_ops_(graph.ops.size()),
        live_symbols_(graph.symbols.size()),
        live_calls_(graph.calls.size()),
        awaited_(graph.calls.size()) {}

  std::vector<Call> Run() {
    Mark();
    return Rebuild();
  }

 private:
  // Every value stands after what it is made of, so one pass from the end finds all.
  void Mark() {
    for (const Port& port : graph_.inputs) Mark(port.use.value);
    for (const Port& port : graph_.outputs) Mark(port.use.value);
    for (size_t i = graph_.ops.size(); i-- > 0;) {
      const Op& op = graph_.ops[OpId(i)];
      bool needed = op.fails || op.effect;
      for (ValueId result : op.results) {
        needed |= live_values_[result.index] || graph_.values[result].storage == Value::kState;
      }
      needed |= awaited_[op.call.index] && !live_calls_[op.call.index];
      if (!needed) continue;
      live_ops_[i] = true;
      live_calls_[op.call.index] = true;
      for (CallId before : graph_.calls[op.call].after) awaited_[before.index] = true;
      for (ValueId result : op.results) Mark(result);
      for (const Use& operand : op.operands) Mark(operand.value);
    }
  }

  void Mark(ValueId id) {
    if (live_values_[id.index]) return;
    live_values_[id.index] = true;
    const Value& value = graph_.values[id];
    if (value.base.valid()) Mark(value.base);
    for (const Dim& dim : value.type.dims) {
      if (!dim.symbol.valid()) continue;
      live_symbols_[dim.symbol.index] = true;
      Mark(graph_.symbols[dim.symbol].extent);
    }
  }

  // Per old id its new one; an invalid one for what is gone.
  template <typename IdType>
  static std::vector<IdType> Renumber(const std::vector<bool>& live) {
    std::vector<IdType> ids(live.size());
    size_t next = 0;
    for (size_t i = 0; i < live.size(); ++i) {
      if (live[i]) ids[i] = IdType(next++);
    }
    return ids;
  }

  // What rules say of the calls that stay.
  static std::optional<Rules> Kept(std::optional<Rules> rules, const std::vector<CallId>& calls) {
    if (!rules) return rules;
    std::vector<CallRule> kept;
    for (size_t i = 0; i < rules->calls.size(); ++i) {
      if (!calls[i].valid()) continue;
      CallRule& rule = kept.emplace_back(std::move(rules->calls[i]));
      if (rule.fused.valid()) rule.fused = calls[rule.fused.index];
    }
    rules->calls = std::move(kept);
    return rules;
  }

  // A bucket keeps nothing that is not read.
  static std::vector<Bucket> Kept(std::vector<Bucket> buckets, const std::vector<ValueId>& values) {
    for (Bucket& bucket : buckets) {
      for (ValueId& value : bucket.values) value = values[value.index];
      std::erase_if(bucket.values, [](ValueId value) { return !value.valid(); });
    }
    std::erase_if(buckets, [](const Bucket& bucket) { return bucket.values.size() < 2; });
    return buckets;
  }

  // Calls of which only what is removed reads: they go because of their readers.
  std::vector<bool> ReadByRemoved(const Graph& old) const {
    std::vector<bool> read(old.calls.size());
    for (OpId id : old.ops.Ids()) {
      if (live_ops_[id.index]) continue;
      for (const Use& operand : old.ops[id].operands) {
        const OpId producer = old.values[operand.value].producer;
        if (producer.valid() && old.ops[producer].call != old.ops[id].call) {
          read[old.ops[producer].call.index] = true;
        }
      }
    }
    return read;
  }

  std::vector<Call> Rebuild() {
    auto values = Renumber<ValueId>(live_values_);
    auto ops = Renumber<OpId>(live_ops_);
    auto calls = Renumber<CallId>(live_calls_);
    auto symbols = Renumber<SymbolId>(live_symbols_);
    Graph old = std::move(graph_);
    const std::vector<bool> read = ReadByRemoved(old);
    graph_ = Graph();
    graph_.name = std::move(old.name);
    graph_.range = old.range;
    graph_.inflight = old.inflight;
    graph_.overlap = old.overlap;
    graph_.timeout_ps = old.timeout_ps;
    graph_.rules = Kept(std::move(old.rules), calls);
    for (SymbolId id : old.symbols.Ids()) {
      if (!live_symbols_[id.index]) continue;
      Symbol& symbol = old.symbols[id];
      symbol.extent = values[symbol.extent.index];
      graph_.symbols.Add(std::move(symbol));
    }
    for (ValueId id : old.values.Ids()) {
      if (!live_values_[id.index]) continue;
      Value& value = old.values[id];
      if (value.producer.valid()) value.producer = ops[value.producer.index];
      if (value.base.valid()) value.base = values[value.base.index];
      for (Dim& dim : value.type.dims) {
        if (dim.symbol.valid()) dim.symbol = symbols[dim.symbol.index];
      }
      graph_.values.Add(std::move(value));
    }
    for (OpId id : old.ops.Ids()) {
      if (!live_ops_[id.index]) continue;
      Op& op = old.ops[id];
      op.call = calls[op.call.index];
      for (ValueId& result : op.results) result = values[result.index];
      for (Use& operand : op.operands) operand.value = values[operand.value.index];
      graph_.ops.Add(std::move(op));
    }
    std::vector<Call> removed;
    for (CallId id : old.calls.Ids()) {
      if (live_calls_[id.index]) {
        for (CallId& before : old.calls[id].after) before = calls[before.index];
        graph_.calls.Add(std::move(old.calls[id]));
      } else if (!read[id.index]) {
        removed.push_back(std::move(old.calls[id]));
      }
    }
    for (Port& port : old.inputs) port.use.value = values[port.use.value.index];
    for (Port& port : old.outputs) port.use.value = values[port.use.value.index];
    graph_.buckets = Kept(std::move(old.buckets), values);
    graph_.inputs = std::move(old.inputs);
    graph_.outputs = std::move(old.outputs);
    return removed;
  }

  Graph& graph_;
  std::vector<bool> live_values_, live_ops_, live_symbols_;
  std::vector<bool> live_calls_;
  std::vector<bool> awaited_;  // calls that a call which is kept comes `after`
};

}  // namespace

std::vector<Call> Prune(Graph& graph) { return Pruner(graph).Run(); }

}  // namespace cgraph::graph
