#include "compiler/graph/recompute.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "compiler/graph/renumber.h"

namespace cgraph {
namespace graph {
namespace {

class Recomputer {
 public:
  explicit Recomputer(Graph& graph) : graph_(graph), ops_(graph.calls.size()) {
    for (OpId id : graph.ops.Ids()) ops_[graph.ops[id].call.index].push_back(id);
    for (OpId id : graph.ops.Ids()) {
      for (ValueId result : graph.ops[id].results) {
        const Value& value = graph.values[result];
        if (value.storage == Value::kState) writes_[value.state].push_back(id);
      }
    }
  }

  void Run() {
    for (CallId call : graph_.calls.Ids()) {
      const CallId forward = graph_.calls[call].derived_from;
      if (forward.valid() && graph_.calls[forward].recompute) Repeat(forward, call);
    }
    if (added_.empty()) return;
    std::vector<OpId> order;
    for (CallId call : graph_.calls.Ids()) {
      const auto added = added_.find(call);
      if (added != added_.end()) {
        order.insert(order.end(), added->second.begin(), added->second.end());
      }
      order.insert(order.end(), ops_[call.index].begin(), ops_[call.index].end());
    }
    // The ops of one call stand together, calls in the order of their first ops.
    std::stable_sort(order.begin(), order.end(), [&](OpId a, OpId b) {
      return FirstOf(graph_.ops[a].call) < FirstOf(graph_.ops[b].call);
    });
    Renumber(graph_, {.ops = IdsByOrder(order)});
  }

 private:
  OpId FirstOf(CallId call) const { return ops_[call.index].front(); }

  // Repeats at the head of `derived` what it reads of what `forward` has made.
  void Repeat(CallId forward, CallId derived) {
    std::map<ValueId, ValueId>& again = again_[forward];  // shared by two halves
    const std::vector<OpId>& made = ops_[forward.index];
    std::map<ValueId, size_t> makers;
    for (size_t i = 0; i < made.size(); ++i) {
      for (ValueId result : graph_.ops[made[i]].results) makers.emplace(result, i);
    }
    std::vector<bool> needed(made.size());
    const auto need = [&](ValueId id) {
      const auto maker = makers.find(RootOf(graph_, id));
      if (maker != makers.end() && !again.count(maker->first)) needed[maker->second] = true;
    };
    for (OpId id : ops_[derived.index]) {
      for (const Use& use : graph_.ops[id].operands) need(use.value);
    }
    for (size_t i = needed.size(); i-- > 0;) {
      const Op& op = graph_.ops[made[i]];
      needed[i] = needed[i] && MayRepeat(op, derived);
      if (!needed[i]) continue;
      for (const Use& use : op.operands) need(use.value);
    }
    for (size_t i = 0; i < needed.size(); ++i) {
      if (needed[i]) RepeatOp(made[i], derived, again);
    }
    for (OpId id : ops_[derived.index]) Replace(graph_.ops[id].operands, again);
  }

  // Returns whether an op can be repeated where `derived` stands: it gives the same again.
  bool MayRepeat(const Op& op, CallId derived) const {
    if (op.fails || op.effect || op.collective) return false;
    for (ValueId result : op.results) {
      if (graph_.values[result].storage == Value::kState) return false;
    }
    return std::none_of(op.operands.begin(), op.operands.end(), [&](const Use& use) {
      const Value& value = graph_.values[RootOf(graph_, use.value)];
      if (value.storage != Value::kState) return false;
      const auto written = writes_.find(value.state);
      if (written == writes_.end()) return false;
      return std::any_of(written->second.begin(), written->second.end(), [&](OpId write) {
        const bool is_later = !value.producer.valid() || value.producer < write;
        return is_later && write < FirstOf(derived);
      });
    });
  }

  void RepeatOp(OpId id, CallId derived, std::map<ValueId, ValueId>& again) {
    Op op = graph_.ops[id];
    op.call = derived;
    Replace(op.operands, again);
    const OpId repeated(graph_.ops.size());
    for (ValueId& result : op.results) {
      Value value = graph_.values[result];
      value.producer = repeated;
      const ValueId made = graph_.values.Add(std::move(value));
      again[result] = made;
      result = made;
    }
    graph_.ops.Add(std::move(op));
    added_[derived].push_back(repeated);
  }

  // Reads the repeated values instead of the kept ones; of a view, that of the repeated base.
  void Replace(std::vector<Use>& operands, const std::map<ValueId, ValueId>& again) {
    for (Use& use : operands) {
      const auto found = again.find(RootOf(graph_, use.value));
      if (found == again.end()) continue;
      const Value& value = graph_.values[use.value];
      if (!value.base.valid()) {
        use.value = found->second;
        continue;
      }
      Value view = value;
      view.base = found->second;
      view.producer = graph_.values[found->second].producer;
      use.value = graph_.values.Add(std::move(view));
    }
  }

  Graph& graph_;
  std::vector<std::vector<OpId>> ops_;  // by call, of those that were there
  std::map<StateId, std::vector<OpId>> writes_;
  std::map<CallId, std::map<ValueId, ValueId>> again_;  // by forward call: what was repeated
  std::map<CallId, std::vector<OpId>> added_;           // by derived call
};

}  // namespace
}  // namespace graph

void Recompute(graph::Module& module) {
  for (graph::Graph& graph : module.graphs) graph::Recomputer(graph).Run();
}

}  // namespace cgraph
