// A method's result must not change when the state that it returns is written later, so elaboration
// copies what a method returns and did not make. Nothing changes what no op writes: there the
// copy's readers can read the value itself. So they can where a collective of one participant gives
// what it was given.
#include <vector>

#include "compiler/base/kernels.h"
#include "compiler/graph/fuse/fuse.h"
#include "compiler/graph/renumber.h"

namespace cgraph {
namespace {

using graph::CallId;
using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::Value;
using graph::ValueId;

class Sharer {
 public:
  Sharer(const graph::Module& module, Graph& graph)
      : module_(module),
        graph_(graph),
        ops_(graph.calls.size()),
        fixed_(graph.calls.size()),
        is_kept_(graph.values.size()),
        instead_(graph.values.size()) {}

  void Run() {
    Look();
    std::vector<bool> kept_ops(graph_.ops.size(), true), kept_values(graph_.values.size(), true);
    bool any = false;
    for (OpId id : graph_.ops.Ids()) {
      const Op& op = graph_.ops[id];
      if (!IsShared(op)) continue;
      any = true;
      --ops_[op.call.index];
      kept_ops[id.index] = kept_values[op.results[0].index] = false;
      instead_[op.results[0].index] = Instead(op.operands[0].value);
    }
    if (!any) return;
    Replace();
    std::vector<bool> kept_calls(graph_.calls.size());
    for (OpId id : graph_.ops.Ids()) {
      if (kept_ops[id.index]) kept_calls[graph_.ops[id].call.index] = true;
    }
    graph::Renumber(graph_, {.symbols = {},
                             .values = graph::IdsOfKept<ValueId>(kept_values),
                             .ops = graph::IdsOfKept<OpId>(kept_ops),
                             .calls = graph::IdsOfKept<CallId>(kept_calls)});
  }

 private:
  // Counts the ops of each call, and finds the calls that must keep all their ops: a call that
  // fails poisons all its results, a call that comes `after` one waits for all its ops, and rules
  // count calls.
  void Look() {
    for (const Op& op : graph_.ops) {
      ++ops_[op.call.index];
      if (op.fails || op.effect) fixed_[op.call.index] = true;
    }
    for (CallId id : graph_.calls.Ids()) {
      const graph::Call& call = graph_.calls[id];
      if (!call.after.empty()) fixed_[id.index] = true;
      for (CallId before : call.after) fixed_[before.index] = true;
    }
    for (const graph::Port& port : graph_.outputs) {
      is_kept_[graph::RootOf(graph_, port.use.value).index] = true;
    }
    for (const graph::Bucket& bucket : graph_.buckets) {
      for (ValueId id : bucket.values) is_kept_[graph::RootOf(graph_, id).index] = true;
    }
  }

  ValueId Instead(ValueId id) const {
    return instead_[id.index].valid() ? instead_[id.index] : id;
  }

  bool IsShared(const Op& op) const {
    if (op.kernel != kCopyKernel || fixed_[op.call.index] || op.results.size() != 1) return false;
    const Value& copy = graph_.values[op.results[0]];
    const Value& source = graph_.values[Instead(op.operands[0].value)];
    const bool is_here = source.home == op.device && source.type == copy.type &&
                         op.operands[0].via.transport == TransportKind::kAuto;
    if (!is_here || copy.storage != Value::kTemporary || is_kept_[op.results[0].index]) {
      return false;
    }
    const bool is_named = graph_.rules && !graph_.rules->automatic &&
                          graph_.rules->calls[op.call.index].kind != graph::kNoKind;
    // A collective of one participant is no call that anybody counts.
    const graph::Call& call = graph_.calls[op.call];
    const bool is_of_one = !call.instance.valid() && call.method != op.name;
    if (is_of_one && source.storage != Value::kState) return true;
    if (source.storage == Value::kTemporary) return ops_[op.call.index] > 1;
    return source.storage == Value::kState && !module_.states[source.state].written &&
           (ops_[op.call.index] > 1 || !is_named);
  }

  void Replace() {
    for (Op& op : graph_.ops) {
      for (graph::Use& use : op.operands) use.value = Instead(use.value);
    }
    for (graph::Symbol& symbol : graph_.symbols) symbol.extent = Instead(symbol.extent);
    for (Value& value : graph_.values) {
      if (!value.base.valid() || !instead_[value.base.index].valid()) continue;
      const ValueId source_id = Instead(value.base);
      const Value& source = graph_.values[source_id];
      value.offset += source.offset;
      value.base = graph::RootOf(graph_, source_id);
      value.storage = source.storage;
      value.producer = source.producer;
      value.state = source.state;
    }
  }

  const graph::Module& module_;
  Graph& graph_;
  std::vector<uint32_t> ops_;     // by call: how many are left
  std::vector<bool> fixed_;       // by call
  std::vector<bool> is_kept_;     // by value: an output, or one of a message of several
  std::vector<ValueId> instead_;  // by value: what is read in its place; invalid: itself
};

}  // namespace

void ShareCopies(graph::Module& module) {
  for (Graph& graph : module.graphs) Sharer(module, graph).Run();
}

}  // namespace cgraph
