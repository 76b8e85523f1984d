#include "compiler/elaborate/gradients/activity.h"

#include <fmt/format.h>

#include "compiler/elaborate/report.h"
#include "llvm/ADT/STLExtras.h"

namespace cgraph::elaborate {
namespace {

using graph::ValueId;

class Finder {
 public:
  Finder(ElaborationContext& elaboration, size_t first, const std::set<ValueId>& targets)
      : elaboration_(elaboration),
        graph_(elaboration.builder->graph()),
        nodes_(elaboration.tape->nodes),
        first_(first),
        targets_(targets),
        depends_(graph_.values.size()),
        older_(graph_.values.size()) {
    for (ValueId target : targets) {
      const graph::StateId state = graph_.values[target].state;
      if (state.valid() && elaboration.places.params.count(state)) params_.insert(state);
    }
    found_.from_input.resize(graph_.values.size());
    found_.maker.resize(graph_.values.size(), Activity::kNoNode);
  }

  std::optional<Activity> Run(ValueId loss, Range range) {
    FindOutermost();
    for (ValueId target : targets_) depends_[target.index] = true;
    for (ValueId id : graph_.values.Ids()) {
      const graph::Value& value = graph_.values[id];
      found_.from_input[id.index] = value.storage == graph::Value::kInput;
      const bool is_older = value.storage == graph::Value::kState && !value.base.valid() &&
                            params_.count(value.state) && !targets_.count(id);
      if (is_older) depends_[id.index] = older_[id.index] = true;
    }
    for (size_t i : outermost_) Forwards(i);
    std::vector<bool> needed(graph_.values.size());
    needed[Root(loss).index] = true;
    for (size_t i : llvm::reverse(outermost_)) Backwards(nodes_[i], needed);
    if (!CheckOlder(needed, range)) return std::nullopt;
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

  void Backwards(const TapeNode& node, std::vector<bool>& needed) {
    bool lies_on_way = false;
    ForEachTensor(node.result, [&](const Tensor& tensor) {
      const size_t index = Root(tensor.value).index;
      lies_on_way = lies_on_way || (needed[index] && depends_[index]);
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

  bool CheckOlder(const std::vector<bool>& needed, Range range) {
    for (size_t i = 0; i < older_.size(); ++i) {
      if (!older_[i] || !needed[i]) continue;
      Report(elaboration_, Code::kE0909, range,
             fmt::format("the loss has read `{}` as it was before it was written; gradients are of "
                         "what a param is where `grad` stands",
                         graph_.values[ValueId(i)].name));
      return false;
    }
    return true;
  }

  ElaborationContext& elaboration_;
  const graph::Graph& graph_;
  const std::deque<TapeNode>& nodes_;
  const size_t first_;
  const std::set<ValueId>& targets_;
  std::vector<size_t> outermost_;
  std::set<graph::StateId> params_;    // whose values are among the targets
  std::vector<bool> depends_, older_;  // by ValueId: on a target; a former value of a param
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
                                     graph::ValueId loss, const std::set<graph::ValueId>& targets,
                                     Range range) {
  // Each gradient looks at all values that there are.
  const int64_t cost = elaboration.tape->nodes.size() - first +
                       StepsOfBytes(elaboration.builder->graph().values.size());
  if (!Step(elaboration, range, cost)) return std::nullopt;
  return Finder(elaboration, first, targets).Run(loss, range);
}

}  // namespace cgraph::elaborate
