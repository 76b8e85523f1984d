// Pairs of collectives: the second takes exactly what the first gives, between the same
// participants. The first becomes the all_reduce and makes the second's results; the second, which
// then makes nothing, is pruned.
#include "compiler/graph/rewrite/passes.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/graph/prune.h"

namespace cgraph::graph {
namespace {

class PairRewriter {
 public:
  PairRewriter(Graph& graph, CollectiveKind first, CollectiveKind second)
      : graph_(graph), first_(first), second_(second), reads_(graph.values.size()) {
    for (const Op& op : graph.ops) {
      for (const Use& use : op.operands) ++reads_[use.value.index];
    }
    for (const Value& value : graph.values) {
      if (value.base.valid()) ++reads_[value.base.index];
    }
    for (const Port& port : graph.outputs) ++reads_[port.use.value.index];
    for (const Call& call : graph.calls) {
      for (CallId before : call.after) ordered_.insert(before);
    }
  }

  void Run(std::vector<Rewritten>& done) {
    for (OpId id : graph_.ops.Ids()) {
      const Op& op = graph_.ops[id];
      if (!Is(op, second_) || op.operands.empty()) continue;
      const OpId producer = graph_.values[op.operands[0].value].producer;
      if (!producer.valid() || !Is(graph_.ops[producer], first_) || !Match(producer, id)) continue;
      done.push_back({.places = {graph_.ops[producer].range, op.range}});
      Join(producer, id);
      changed_ = true;
    }
    if (!changed_) return;
    RenameUses();
    Prune(graph_);
  }

 private:
  static bool Is(const Op& op, CollectiveKind kind) {
    return op.collective && op.collective->kind == kind;
  }

  bool Match(OpId first_id, OpId second_id) const {
    const Op& first = graph_.ops[first_id];
    const Op& second = graph_.ops[second_id];
    const Collective &gives = *first.collective, &takes = *second.collective;
    // A transport or an order that was asked for must be the same for both.
    if (gives.via != takes.via || !graph_.calls[second.call].after.empty() ||
        ordered_.count(second.call) || !SameOperands(first, second)) {
      return false;
    }
    if (second_ == CollectiveKind::kAllGather) {
      return gives.participants == takes.participants && ReadOnce(first);
    }
    return first.device == second.device &&
           gives.participants.size() == takes.participants.size() &&
           std::is_permutation(gives.participants.begin(), gives.participants.end(),
                               takes.participants.begin());
  }
  static bool SameOperands(const Op& first, const Op& second) {
    const auto same = [](ValueId made, const Use& read) {
      return made == read.value && read.via.transport == TransportKind::kAuto;
    };
    return std::equal(first.results.begin(), first.results.end(), second.operands.begin(),
                      second.operands.end(), same);
  }
  // Returns whether only the second reads the first's results: parts that others read must still be
  // made.
  bool ReadOnce(const Op& first) const {
    return std::all_of(first.results.begin(), first.results.end(),
                       [&](ValueId result) { return reads_[result.index] == 1; });
  }

  void Join(OpId first_id, OpId second_id) {
    Op& first = graph_.ops[first_id];
    Op& second = graph_.ops[second_id];
    const size_t members = first.collective->participants.size();
    const size_t tensors = second.results.size() / members;
    std::vector<ValueId> results;
    for (DeviceId device : first.collective->participants) {
      const auto& ranks = second.collective->participants;
      const size_t rank = std::find(ranks.begin(), ranks.end(), device) - ranks.begin();
      for (size_t i = 0; i < tensors; ++i) results.push_back(second.results[rank * tensors + i]);
    }
    // Readers of the reduced value at the root read what the root gets of the all_reduce.
    if (second_ == CollectiveKind::kBroadcast) {
      for (size_t i = 0; i < tensors; ++i) {
        renamed_[first.results[i]] = results[first.collective->root * tensors + i];
      }
    }
    for (ValueId result : results) graph_.values[result].producer = first_id;
    first.results = std::move(results);
    second.results.clear();
    second.operands.clear();
    first.collective->kind = CollectiveKind::kAllReduce;
    first.name = TraitsOf(CollectiveKind::kAllReduce).name;
    graph_.calls[first.call].method = first.name;
  }

  void RenameUses() {
    const auto rename = [&](ValueId& id) {
      if (const auto found = renamed_.find(id); found != renamed_.end()) id = found->second;
    };
    for (Op& op : graph_.ops) {
      for (Use& use : op.operands) rename(use.value);
    }
    for (Value& value : graph_.values) {
      if (value.base.valid()) rename(value.base);
    }
    for (Port& port : graph_.outputs) rename(port.use.value);
  }

  Graph& graph_;
  const CollectiveKind first_, second_;
  bool changed_ = false;
  std::vector<uint32_t> reads_;         // by value
  std::set<CallId> ordered_;             // calls that another comes `after`
  std::map<ValueId, ValueId> renamed_;  // what the first gave: what stands for it
};

void RewritePairs(Graph& graph, CollectiveKind first, CollectiveKind second,
                  std::vector<Rewritten>& done) {
  const bool any = std::any_of(graph.ops.begin(), graph.ops.end(), [&](const Op& op) {
    return op.collective && op.collective->kind == second;
  });
  if (any) PairRewriter(graph, first, second).Run(done);
}

}  // namespace

void RewriteReduceBroadcast(const Module&, const RewriteOptions&, Graph& graph,
                            std::vector<Rewritten>& done) {
  RewritePairs(graph, CollectiveKind::kReduce, CollectiveKind::kBroadcast, done);
}

void RewriteScatterGather(const Module&, const RewriteOptions&, Graph& graph,
                          std::vector<Rewritten>& done) {
  RewritePairs(graph, CollectiveKind::kReduceScatter, CollectiveKind::kAllGather, done);
}

}  // namespace cgraph::graph
