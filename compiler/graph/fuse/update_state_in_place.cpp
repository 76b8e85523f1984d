#include "compiler/graph/fuse/fuse.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "compiler/base/kernels.h"
#include "compiler/graph/prune.h"

namespace cgraph {
namespace {

using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::StateId;
using graph::Use;
using graph::Value;
using graph::ValueId;

class InPlaceUpdater {
 public:
  InPlaceUpdater(Graph& graph, bool starts)
      : graph_(graph), starts_(starts), readers_(graph.values.size()),
        escapes_(graph.values.size(), false) {}

  void Run() {
    FindReaders();
    FindTouches();
    std::vector<OpId> commits;
    for (OpId id : graph_.ops.Ids()) {
      if (IsCommit(graph_.ops[id]) && MayCommitItself(id)) commits.push_back(id);
    }
    if (commits.empty()) return;
    Apply(commits);
    Prune(graph_);  // nothing reads the copies now
  }

 private:
  // Finds the ops that read each value, itself or a view of it, and the values that leave their
  // call otherwise.
  void FindReaders() {
    for (OpId id : graph_.ops.Ids()) {
      for (const Use& operand : graph_.ops[id].operands) {
        readers_[RootOf(graph_, operand.value).index].push_back(id);
      }
    }
    const auto leaves = [&](ValueId id) { escapes_[RootOf(graph_, id).index] = true; };
    for (const graph::Port& port : graph_.outputs) leaves(port.use.value);
    for (const graph::Symbol& symbol : graph_.symbols) leaves(symbol.extent);
    for (const graph::Bucket& bucket : graph_.buckets) {
      for (ValueId value : bucket.values) leaves(value);
    }
  }

  bool IsCommit(const Op& op) const {
    return op.kernel == kCopyKernel && op.steps.empty() && op.results.size() == 1 &&
           graph_.values[op.results[0]].storage == Value::kState;
  }

  // Returns whether the op that makes the value can write it where the commit would copy it.
  bool MayCommitItself(OpId commit_id) const {
    const Op& commit = graph_.ops[commit_id];
    const ValueId made = commit.operands[0].value;
    const Value& value = graph_.values[made];
    const Value& written = graph_.values[commit.results[0]];
    if (value.storage != Value::kTemporary || value.base.valid() || escapes_[made.index] ||
        value.type != written.type || value.home != written.home) {
      return false;
    }
    const OpId maker_id = value.producer;
    const Op& maker = graph_.ops[maker_id];
    if (maker.call != commit.call || maker.collective) return false;
    if (maker.fails && maker.inplace.empty() && !starts_) return false;
    const std::vector<OpId>& readers = readers_[made.index];
    const bool stays = std::all_of(readers.begin(), readers.end(), [&](OpId reader) {
      return graph_.ops[reader].call == commit.call;
    });
    return stays && !fails_after_[maker_id.index] &&
           OldIsReadBefore(maker_id, commit_id, written.state) &&
           MayOverwriteOld(maker, written);
  }

  // Finds the ops that read or write each state, and the ops behind which another op of their call
  // fails.
  void FindTouches() {
    for (OpId id : graph_.ops.Ids()) {
      const auto touch = [&](ValueId value_id) {
        const Value& value = graph_.values[value_id];
        if (value.storage == Value::kState) touches_[value.state].push_back(id);
      };
      for (const Use& operand : graph_.ops[id].operands) touch(operand.value);
      for (ValueId result : graph_.ops[id].results) touch(result);
    }
    fails_after_.assign(graph_.ops.size(), false);
    for (size_t i = graph_.ops.size(); i-- > 1;) {
      const Op &op = graph_.ops[OpId(i - 1)], &next = graph_.ops[OpId(i)];
      fails_after_[i - 1] = op.call == next.call && (next.fails || fails_after_[i]);
    }
  }

  // Returns whether no op reads or writes the state's old value once the new one is there.
  bool OldIsReadBefore(OpId maker, OpId commit, StateId state) const {
    const std::vector<OpId>& ops = touches_.at(state);
    return *std::upper_bound(ops.begin(), ops.end(), maker) >= commit;
  }

  // Where the maker reads the state's old value, it must be able to write over it.
  bool MayOverwriteOld(const Op& maker, const Value& written) const {
    for (size_t i = 0; i < maker.operands.size(); ++i) {
      const Value& operand = graph_.values[maker.operands[i].value];
      if (operand.storage != Value::kState || operand.state != written.state) continue;
      const bool in_place =
          maker.elementwise || std::any_of(maker.inplace.begin(), maker.inplace.end(),
                                           [i](const auto& pair) {
                                             return pair.first == static_cast<int>(i);
                                           });
      if (!in_place || !MayOverwrite(graph_, maker.operands, i, written)) return false;
    }
    return true;
  }

  // Applies all commits at once, since a graph has as many commits as calls.
  void Apply(const std::vector<OpId>& commits) {
    std::vector<ValueId> made_as(graph_.values.size());  // by what a commit has written
    for (OpId id : commits) {
      const Op& commit = graph_.ops[id];
      const ValueId made = commit.operands[0].value, written = commit.results[0];
      OverwriteOld(graph_.ops[graph_.values[made].producer], graph_.values[written]);
      made_as[written.index] = made;
    }
    const auto move = [&](ValueId& id) {
      if (id.valid() && made_as[id.index].valid()) id = made_as[id.index];
    };
    for (Op& op : graph_.ops) {
      for (Use& operand : op.operands) move(operand.value);
    }
    for (graph::Port& port : graph_.outputs) move(port.use.value);
    for (Value& value : graph_.values) move(value.base);
    for (ValueId written : graph_.values.Ids()) {
      if (!made_as[written.index].valid()) continue;
      Value& old = graph_.values[written];
      Value& made = graph_.values[made_as[written.index]];
      made.name = std::move(old.name);
      made.storage = std::exchange(old.storage, Value::kTemporary);
      made.state = std::exchange(old.state, StateId());
    }
    for (Value& value : graph_.values) {
      if (!value.base.valid()) continue;
      value.storage = graph_.values[value.base].storage;
      value.state = graph_.values[value.base].state;
    }
  }

  void OverwriteOld(Op& maker, const Value& written) const {
    for (size_t i = 0; maker.elementwise && i < maker.operands.size(); ++i) {
      const std::pair<int, int> pair{static_cast<int>(i), 0};
      const bool known = std::find(maker.inplace.begin(), maker.inplace.end(), pair) !=
                         maker.inplace.end();
      if (!known && MayOverwrite(graph_, maker.operands, i, written)) maker.inplace.push_back(pair);
    }
  }

  Graph& graph_;
  const bool starts_;
  std::vector<std::vector<OpId>> readers_;  // by value
  std::vector<char> escapes_;
  std::map<StateId, std::vector<OpId>> touches_;  // in program order
  std::vector<char> fails_after_;                 // by op
};

}  // namespace

void UpdateStateInPlace(graph::Module& module) {
  InPlaceUpdater(module.start, /*starts=*/true).Run();
  for (Graph& graph : module.graphs) InPlaceUpdater(graph, /*starts=*/false).Run();
}

}  // namespace cgraph
