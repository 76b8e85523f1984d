#include "compiler/elaborate/calls/calls.h"

#include "compiler/base/check.h"
#include "compiler/elaborate/budget.h"
#include "compiler/elaborate/calls/method_scope.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/eval.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/places/places.h"
#include "compiler/elaborate/values/make.h"
#include "llvm/ADT/STLExtras.h"

namespace cgraph::elaborate {

const Value& LayoutOf(const ElaborationContext& elaboration, program::StateId state,
                      const Frame& frame) {
  const InstanceDetails& details = elaboration.places.instances[frame.instance.index];
  if (frame.slots != nullptr) {
    const program::Optimizer& optimizer =
        elaboration.program.optimizers[details.training->optimizer];
    return (*frame.slots)[state.index - optimizer.slots[0].index];
  }
  const std::vector<program::StateId>& states = elaboration.program.actors[details.actor].states;
  auto at = llvm::find(states, state);
  CGRAPH_CHECK(at != states.end(), "elaborate", "a method reads its own actor's state");
  return details.layout[at - states.begin()];
}

Tensor ReadState(ElaborationContext& elaboration, graph::StateId state) {
  if (elaboration.named_params != nullptr && elaboration.places.params.count(state) != 0) {
    elaboration.named_params->insert(state);
  }
  if (elaboration.method) {
    auto written = elaboration.method->pending.find(state);
    if (written != elaboration.method->pending.end()) return written->second;
  }
  return Tensor{elaboration.builder->CurrentState(state)};
}

Value ReadStates(ElaborationContext& elaboration, Range range, const Value& layout) {
  return MapLeaves(elaboration, range, layout, [&](const Value& leaf) {
    const StateLeaf* state = leaf.As<StateLeaf>();
    return state ? Value(ReadState(elaboration, state->state)) : leaf;
  });
}

void StoreState(ElaborationContext& elaboration, const Value& layout, const Value& value,
                Range range) {
  if (const StateLeaf* leaf = layout.As<StateLeaf>()) {
    const Tensor& tensor = *value.As<Tensor>();
    elaboration.method->pending[leaf->state] = tensor;
    elaboration.method->writes[leaf->state].push_back({tensor.value, range});
  } else if (const List* list = layout.As<List>()) {
    for (size_t i = 0; i < list->items->size(); ++i) {
      StoreState(elaboration, (*list->items)[i], (*value.As<List>()->items)[i], range);
    }
  } else if (const Tuple* tuple = layout.As<Tuple>()) {
    for (size_t i = 0; i < tuple->items->values.size(); ++i) {
      StoreState(elaboration, tuple->items->values[i], value.As<Tuple>()->items->values[i], range);
    }
  }
}

Value Eval(ElaborationContext& elaboration, const program::StateRef& e, const Context& context) {
  return ReadStates(elaboration, context.range, LayoutOf(elaboration, e.state, context.frame));
}

}  // namespace cgraph::elaborate
