// Fusion. Groups are found from the last op to the first: an op joins the group of its readers when
// they are all in one group, of one method call, and the shapes agree. So every group has one root,
// its last op, whose result is the only one that leaves it, and the group runs where the root
// stood. An op that joins moves later, past other ops of its call: it is pure, and it may not read
// a state that one of them overwrites.
#include "compiler/graph/fuse/fuse.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/base/kernels.h"
#include "compiler/graph/prune.h"
#include "runtime/base/kinds/limits.h"

namespace cgraph {
namespace {

using graph::FusedStep;
using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::StateId;
using graph::Use;
using graph::Value;
using graph::ValueId;

struct Group {
  OpId root;
  std::vector<OpId> members;  // from the last to the first
  size_t operands = 0;        // read by the members, counted as often as they are read
};

class Fuser {
 public:
  explicit Fuser(Graph& graph)
      : graph_(graph), readers_(graph.values.size()) {}

  void Run() {
    CountReaders();
    for (size_t i = graph_.ops.size(); i-- > 0;) Assign(OpId(i));
    for (const Group& group : groups_) {
      if (group.members.size() > 1) Replace(group);
    }
    Prune(graph_);  // nothing reads the ops that were fused now
  }

 private:
  static constexpr size_t kNoGroup = ~size_t{0};

  // Readers: how often a value is read, and by which group so far.
  struct Readers {
    size_t all = 0, seen = 0;
    size_t group = kNoGroup;
    bool mixed = false;
  };

  void CountReaders() {
    for (OpId id : graph_.ops.Ids()) {
      for (const Use& operand : graph_.ops[id].operands) ++readers_[operand.value.index].all;
      for (ValueId result : graph_.ops[id].results) {
        const Value& value = graph_.values[result];
        if (value.storage == Value::kState) commits_[value.state].push_back(id);
      }
    }
    for (const Value& value : graph_.values) {
      if (value.base.valid()) ++readers_[value.base.index].all;
    }
    for (const graph::Symbol& symbol : graph_.symbols) ++readers_[symbol.extent.index].all;
    for (const graph::Port& port : graph_.outputs) ++readers_[port.use.value.index].all;
  }

  void Assign(OpId id) {
    const Op& op = graph_.ops[id];
    if (!op.elementwise || op.results.size() != 1) return;
    const Readers& readers = readers_[op.results[0].index];
    size_t group = kNoGroup;
    if (!readers.mixed && readers.group != kNoGroup && readers.seen == readers.all &&
        MayJoin(id, groups_[readers.group])) {
      group = readers.group;
    } else {
      group = groups_.size();
      groups_.push_back({id, {}, 0});
    }
    groups_[group].members.push_back(id);
    groups_[group].operands += op.operands.size();
    for (const Use& operand : op.operands) {
      Readers& read = readers_[operand.value.index];
      read.mixed |= read.group != kNoGroup && read.group != group;
      read.group = group;
      ++read.seen;
    }
  }

  bool MayJoin(OpId id, const Group& group) const {
    const Op& op = graph_.ops[id];
    const Op& root = graph_.ops[group.root];
    const Value& result = graph_.values[op.results[0]];
    return op.call == root.call && result.storage == Value::kTemporary &&
           result.type.dims == graph_.values[root.results[0]].type.dims &&
           group.members.size() < kMaxFusedSteps &&
           group.operands + op.operands.size() <= kMaxFusedOperands &&
           std::all_of(op.operands.begin(), op.operands.end(),
                       [&](const Use& use) { return StaysReadable(use.value, id, group.root); });
  }

  // Returns whether `from` can read the value as late as `root` runs. The root may itself overwrite
  // a state that is read as a whole: each element is read before it is written.
  bool StaysReadable(ValueId id, OpId from, OpId root) const {
    const Value& value = graph_.values[id];
    if (value.storage != Value::kState) return true;
    const auto commits = commits_.find(value.state);
    if (commits == commits_.end()) return true;
    const auto next = std::upper_bound(commits->second.begin(), commits->second.end(), from);
    if (next == commits->second.end() || *next > root) return true;
    return *next == root && !value.base.valid();
  }

  void Replace(const Group& group) {
    std::map<ValueId, int> made;  // by which step
    std::map<std::pair<ValueId, TransportRequest>, int> operands;
    Op& root = graph_.ops[group.root];
    Op fused;
    fused.elementwise = true;
    fused.call = root.call;
    fused.device = root.device;
    fused.range = root.range;
    fused.results = root.results;
    for (size_t i = group.members.size(); i-- > 0;) {
      const Op& op = graph_.ops[group.members[i]];
      if (i == 0 && op.kernel == kCopyKernel) break;  // the step before makes it in place
      FusedStep step{op.kernel, op.attributes, {}, graph_.values[op.results[0]].type.dtype};
      for (const Use& use : op.operands) {
        const auto inner = made.find(use.value);
        if (inner != made.end()) {
          step.operands.push_back(-1 - inner->second);
          continue;
        }
        const auto [outer, is_new] =
            operands.try_emplace({use.value, use.via}, fused.operands.size());
        if (is_new) fused.operands.push_back(use);
        step.operands.push_back(outer->second);
      }
      made[op.results[0]] = static_cast<int>(fused.steps.size());
      fused.flops += op.flops;
      fused.steps.push_back(std::move(step));
    }
    Finish(fused);
    root = std::move(fused);
  }

  void Finish(Op& fused) const {
    const Value& result = graph_.values[fused.results[0]];
    fused.bytes = result.type.bytes();
    for (const Use& operand : fused.operands) {
      fused.bytes += graph_.values[operand.value].type.bytes();
    }
    for (size_t i = 0; i < fused.operands.size(); ++i) {
      if (!MayOverwrite(graph_, fused.operands, i, result)) continue;
      fused.inplace.push_back({static_cast<int>(i), 0});
    }
    std::vector<std::string> kernels;
    for (const FusedStep& step : fused.steps) kernels.push_back(step.kernel);
    fused.name = fused.kernel = fmt::format("{}", fmt::join(kernels, "+"));
    if (fused.steps.size() > 1) return;
    // A fused op that commits its result itself keeps the attributes of its only step.
    fused.attributes = std::move(fused.steps[0].attributes);
    fused.steps.clear();
  }

  Graph& graph_;
  std::vector<Readers> readers_;  // by value
  std::vector<Group> groups_;
  std::map<StateId, std::vector<OpId>> commits_;  // the ops that write a state, in order
};

}  // namespace

void Fuse(graph::Module& module) {
  Fuser(module.start).Run();
  for (Graph& graph : module.graphs) Fuser(graph).Run();
}

}  // namespace cgraph
