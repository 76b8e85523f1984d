#include "compiler/elaborate/gradients/activity.h"

#include <map>

#include <fmt/format.h>

#include "compiler/elaborate/calls/method_scope.h"
#include "compiler/elaborate/report.h"
#include "llvm/ADT/STLExtras.h"

namespace cgraph::elaborate {
namespace {

using graph::ValueId;

class Finder {
 public:
  Finder(ElaborationContext& elaboration, size_t first, const Targets& targets)
      : elaboration_(elaboration),
        graph_(elaboration.builder->graph()),
        nodes_(elaboration.tape->nodes),
        first_(first),
        targets_(targets),
        depends_(graph_.values.size()) {
    found_.from_input.resize(graph_.values.size());
    found_.maker.resize(graph_.values.size(), Activity::kNoNode);
  }

  std::optional<Activity> Run(ValueId loss, Range range) {
    FindOutermost();
    if (!CheckOlder(loss, range)) return std::nullopt;
    for (ValueId target : targets_.values) depends_[target.index] = true;
    for (ValueId id : graph_.values.Ids()) {
      found_.from_input[id.index] = graph_.values[id].storage == graph::Value::kInput;
    }
    for (size_t i : outermost_) Forwards(i);
    std::vector<bool> needed(graph_.values.size());
    needed[Root(loss).index] = true;
    for (size_t i : llvm::reverse(outermost_)) Backwards(nodes_[i], needed, &depends_);
    found_.active.resize(graph_.values.size());
    for (size_t i = 0; i < needed.size(); ++i) found_.active[i] = needed[i] && depends_[i];
    for (size_t i : outermost_) {
      if (HasActive({nodes_[i].result}) && !IsCut(nodes_[i]) &&
          (HasActive(nodes_[i].arguments) || HasVariables(nodes_[i]))) {
        found_.nodes.push_back(i);
      }
    }
    return std::move(found_);
  }

 private:
  ValueId Root(ValueId id) const { return graph::RootOf(graph_, id); }

  // Lists the nodes that do not stand inside another one.
  void FindOutermost() {
    for (size_t i = nodes_.size(); i > first_;) {
      outermost_.push_back(--i);
      i = std::max(first_, nodes_[i].interior);
    }
    std::reverse(outermost_.begin(), outermost_.end());
  }

  bool IsFloat(ValueId id) const {
    return ClassOf(graph_.values[id].type.dtype) == DTypeClass::kFloating;
  }

  // A write to a param is not differentiated: the optimizer is no part of the loss.
  bool IsCut(const TapeNode& node) const {
    if (const auto* copy = std::get_if<TapeNode::Copy>(&node.callee)) {
      return copy->written.valid() && elaboration_.places.params.count(copy->written) != 0;
    }
    const program::Gradient* rule = RuleOf(elaboration_, node);
    return rule != nullptr && rule->of.empty();
  }

  // Returns whether a method keeps variables of its own, whose gradients its derived call makes.
  bool HasVariables(const TapeNode& node) const {
    const auto* method = std::get_if<program::MethodId>(&node.callee);
    return method != nullptr && elaboration_.program.methods[*method].native &&
           !elaboration_.program.methods[*method].gradient_by.empty();
  }

  void Forwards(size_t at) {
    const TapeNode& node = nodes_[at];
    bool reads_input = false, depends = HasVariables(node);
    for (const Value& argument : node.arguments) {
      ForEachTensor(argument, [&](const Tensor& tensor) {
        const ValueId root = Root(tensor.value);
        reads_input = reads_input || found_.from_input[root.index];
        depends = depends || (depends_[root.index] && IsFloat(tensor.value));
      });
    }
    const bool cut = IsCut(node);
    ForEachTensor(node.result, [&](const Tensor& tensor) {
      const size_t index = Root(tensor.value).index;
      found_.maker[index] = at;
      if (reads_input) found_.from_input[index] = true;
      if (depends && !cut && IsFloat(tensor.value)) depends_[index] = true;
    });
  }

  // Marks what a node reads for what is marked; of values, if that is given, that depend on a
  // target.
  void Backwards(const TapeNode& node, std::vector<bool>& needed,
                 const std::vector<bool>* depends) const {
    bool lies_on_way = false;
    ForEachTensor(node.result, [&](const Tensor& tensor) {
      const size_t index = Root(tensor.value).index;
      lies_on_way = lies_on_way || (needed[index] && (depends == nullptr || (*depends)[index]));
    });
    if (!lies_on_way || IsCut(node)) return;
    for (const Value& argument : node.arguments) {
      ForEachTensor(argument, [&](const Tensor& tensor) {
        if (IsFloat(tensor.value)) needed[Root(tensor.value).index] = true;
      });
    }
  }

  bool HasActive(const std::vector<Value>& values) const {
    bool has = false;
    for (const Value& value : values) {
      ForEachTensor(value, [&](const Tensor& tensor) {
        has = has || found_.active[Root(tensor.value).index];
      });
    }
    return has;
  }

  // ---- former values of params ------------------------------------------------------------------

  struct Older {
    graph::StateId param;
    Range written;  // where it was overwritten
    // What the method has written last, where this is what it has written before: the program may
    // mean it by another name, and so it counts where the loss does not depend on the last one.
    ValueId last = {};
  };

  // Finds what the params among the targets were before they were written.
  std::map<ValueId, Older> FindOlder() const {
    std::map<ValueId, Older> older;
    for (ValueId id : graph_.values.Ids()) {
      const graph::Value& value = graph_.values[id];
      const bool is_param = value.storage == graph::Value::kState && !value.base.valid() &&
                            targets_.params.count(value.state) != 0;
      if (!is_param || targets_.values.count(id) != 0) continue;
      if (const std::optional<Range> written = Overwritten(id)) older[id] = {value.state, *written};
    }
    for (graph::StateId param : targets_.params) {
      const std::vector<MethodScope::Write>* writes = WritesOf(param);
      for (size_t i = 0; writes != nullptr && i + 1 < writes->size(); ++i) {
        const ValueId root = Root((*writes)[i].value);
        if (targets_.values.count(root) != 0) continue;
        older[root] = {param, (*writes)[i + 1].range, Root(writes->back().value)};
      }
    }
    return older;
  }

  // Returns what the current method has written to a param; null: nothing.
  const std::vector<MethodScope::Write>* WritesOf(graph::StateId param) const {
    if (elaboration_.method == nullptr) return nullptr;
    const auto found = elaboration_.method->writes.find(param);
    return found == elaboration_.method->writes.end() ? nullptr : &found->second;
  }

  // Returns where a param was written whose value this is, or was; nothing: it is its value still.
  std::optional<Range> Overwritten(ValueId id) const {
    const graph::StateId param = graph_.values[id].state;
    if (const auto* writes = WritesOf(param)) return writes->front().range;
    const ValueId current = elaboration_.builder->CurrentState(param);
    if (current == id) return std::nullopt;
    return graph_.calls[graph_.ops[graph_.values[current].producer].call].site;
  }

  // Reports a former value of a param that the loss has read other than by way of a later one.
  bool CheckOlder(ValueId loss, Range range) {
    const std::map<ValueId, Older> older = FindOlder();
    if (older.empty()) return true;
    std::vector<bool> read(graph_.values.size());
    read[Root(loss).index] = true;
    for (size_t i : llvm::reverse(outermost_)) {
      if (!MakesParam(nodes_[i])) Backwards(nodes_[i], read, nullptr);
    }
    for (const auto& [id, former] : older) {
      if (!read[id.index] || (former.last.valid() && read[former.last.index])) continue;
      const graph::State& state = elaboration_.module.states[former.param];
      Report(elaboration_, Code::kE0909, range,
             fmt::format("the loss has read `{}.{}` as it was before it was written; gradients are "
                         "of what a param is where `grad` stands: call it before the write, or "
                         "compute the loss after it",
                         elaboration_.module.instances[state.instance].name, state.name))
          .AddNote(former.written, "written here");
      return false;
    }
    return true;
  }

  // Returns whether a node makes what the current method writes to a param that is asked for.
  bool MakesParam(const TapeNode& node) const {
    bool makes = false;
    ForEachTensor(node.result, [&](const Tensor& tensor) {
      for (graph::StateId param : targets_.params) {
        const std::vector<MethodScope::Write>* writes = WritesOf(param);
        if (writes == nullptr) continue;
        makes = makes || llvm::any_of(*writes, [&](const MethodScope::Write& write) {
                  return Root(write.value) == Root(tensor.value);
                });
      }
    });
    return makes;
  }

  ElaborationContext& elaboration_;
  const graph::Graph& graph_;
  const std::deque<TapeNode>& nodes_;
  const size_t first_;
  const Targets& targets_;
  std::vector<size_t> outermost_;
  std::vector<bool> depends_;  // by ValueId: on a target
  Activity found_;
};

}  // namespace

const program::Gradient* RuleOf(const ElaborationContext& elaboration, const TapeNode& node) {
  const std::optional<program::Gradient>* rule = nullptr;
  if (const auto* op = std::get_if<program::OpId>(&node.callee)) {
    rule = &elaboration.program.ops[*op].gradient;
  } else if (const auto* fn = std::get_if<program::FnId>(&node.callee)) {
    rule = &elaboration.program.fns[*fn].gradient;
  }
  return rule != nullptr && rule->has_value() ? &**rule : nullptr;
}

std::optional<Activity> FindActivity(ElaborationContext& elaboration, size_t first,
                                     graph::ValueId loss, const Targets& targets, Range range) {
  // Each gradient looks at all values that there are.
  const int64_t cost = elaboration.tape->nodes.size() - first +
                       StepsOfBytes(elaboration.builder->graph().values.size());
  if (!Step(elaboration, range, cost)) return std::nullopt;
  return Finder(elaboration, first, targets).Run(loss, range);
}

}  // namespace cgraph::elaborate
