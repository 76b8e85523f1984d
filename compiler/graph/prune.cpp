#include "compiler/graph/prune.h"

#include "compiler/graph/renumber.h"

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
    return Remove();
  }

 private:
  // Marks values from the end: every value stands after those that it is made of, so one pass finds
  // all.
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

  // Returns the calls whose results only removed ops read: they go with their readers.
  std::vector<bool> ReadByRemoved() const {
    std::vector<bool> read(graph_.calls.size());
    for (OpId id : graph_.ops.Ids()) {
      if (live_ops_[id.index]) continue;
      for (const Use& operand : graph_.ops[id].operands) {
        const OpId producer = graph_.values[operand.value].producer;
        if (producer.valid() && graph_.ops[producer].call != graph_.ops[id].call) {
          read[graph_.ops[producer].call.index] = true;
        }
      }
    }
    return read;
  }

  std::vector<Call> Remove() {
    const std::vector<bool> read = ReadByRemoved();
    std::vector<Call> removed;
    for (CallId id : graph_.calls.Ids()) {
      if (live_calls_[id.index] || read[id.index]) continue;
      removed.push_back(std::move(graph_.calls[id]));
    }
    Renumber(graph_, {.symbols = IdsOfKept<SymbolId>(live_symbols_),
                      .values = IdsOfKept<ValueId>(live_values_),
                      .ops = IdsOfKept<OpId>(live_ops_),
                      .calls = IdsOfKept<CallId>(live_calls_)});
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
