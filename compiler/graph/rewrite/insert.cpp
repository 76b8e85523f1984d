#include "compiler/graph/rewrite/insert.h"

#include <algorithm>

namespace cgraph::graph {
namespace {

class Inserter {
 public:
  Inserter(Graph& graph, std::vector<Insertion> insertions)
      : graph_(graph),
        insertions_(std::move(insertions)),
        new_calls_(graph.calls.size()),
        new_ops_(graph.ops.size()) {
    std::stable_sort(insertions_.begin(), insertions_.end(),
                     [](const Insertion& a, const Insertion& b) { return a.after < b.after; });
  }

  void Run() {
    Table<OpId, Op> ops = std::move(graph_.ops);
    Table<CallId, Call> calls = std::move(graph_.calls);
    graph_.ops = {};
    graph_.calls = {};
    Number(calls);
    // Ops of one call stand together, and calls in the order of their ops.
    auto next = insertions_.begin();
    for (OpId id : ops.Ids()) {
      const CallId call = ops[id].call;
      for (; next != insertions_.end() && next->after < call; ++next) Add(*next);
      new_ops_[id.index] = OpId(graph_.ops.size());
      ops[id].call = new_calls_[call.index];
      graph_.ops.Add(std::move(ops[id]));
    }
    for (; next != insertions_.end(); ++next) Add(*next);
    for (Value& value : graph_.values) {
      if (!value.producer.valid()) continue;
      const bool is_new = value.producer.index >= new_ops_.size();
      value.producer = is_new ? OpId(value.producer.index - new_ops_.size())
                              : new_ops_[value.producer.index];
    }
  }

 private:
  void Number(Table<CallId, Call>& calls) {
    std::vector<CallRule> rules;
    const auto add = [&](Call call, CallRule rule) {
      rules.push_back(std::move(rule));
      return graph_.calls.Add(std::move(call));
    };
    auto next = insertions_.begin();
    for (CallId id : calls.Ids()) {
      for (CallId& before : calls[id].after) before = new_calls_[before.index];
      CallRule rule;
      if (graph_.rules) rule = std::move(graph_.rules->calls[id.index]);
      new_calls_[id.index] = add(std::move(calls[id]), std::move(rule));
      for (; next != insertions_.end() && next->after == id; ++next) {
        next->op.call = add(std::move(next->call), CallRule());
      }
    }
    if (!graph_.rules) return;
    for (CallRule& rule : rules) {
      if (rule.fused.valid()) rule.fused = new_calls_[rule.fused.index];
    }
    graph_.rules->calls = std::move(rules);
  }

  // Until all values are renumbered, a new producer stands behind the old ones.
  void Add(Insertion& insertion) {
    const OpId id(graph_.ops.size());
    for (ValueId result : insertion.op.results) {
      graph_.values[result].producer = OpId(new_ops_.size() + id.index);
    }
    graph_.ops.Add(std::move(insertion.op));
  }

  Graph& graph_;
  std::vector<Insertion> insertions_;
  std::vector<CallId> new_calls_;  // by the number before
  std::vector<OpId> new_ops_;
};

}  // namespace

void Insert(Graph& graph, std::vector<Insertion> insertions) {
  Inserter(graph, std::move(insertions)).Run();
}

}  // namespace cgraph::graph
