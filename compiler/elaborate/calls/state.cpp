#include "compiler/elaborate/calls/state.h"

#include "compiler/base/check.h"
#include "compiler/elaborate/budget.h"
#include "compiler/elaborate/calls/method_scope.h"
#include "compiler/elaborate/expressions/eval.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/places/places.h"
#include "compiler/elaborate/work.h"
#include "llvm/ADT/STLExtras.h"

namespace cgraph::elaborate {

const Value& LayoutOf(const Work& work, program::StateId state, const Frame& frame) {
  const InstanceDetails& details = work.places.instances[frame.instance.index];
  const std::vector<program::StateId>& states = work.program.actors[details.actor].states;
  auto at = llvm::find(states, state);
  CGRAPH_CHECK(at != states.end(), "elaborate", "a method reads its own actor's state");
  return details.layout[at - states.begin()];
}

Tensor ReadState(Work& work, graph::StateId state) {
  if (work.method) {
    auto written = work.method->pending.find(state);
    if (written != work.method->pending.end()) return written->second;
  }
  return Tensor{work.builder->CurrentState(state)};
}

Value ReadStates(Work& work, const Value& layout) {
  return MapLeaves(layout, [&](const Value& leaf) {
    const StateLeaf* state = leaf.As<StateLeaf>();
    return state ? Value(ReadState(work, state->state)) : leaf;
  });
}

void StoreState(Work& work, const Value& layout, const Value& value) {
  if (const StateLeaf* leaf = layout.As<StateLeaf>()) {
    work.method->pending[leaf->state] = *value.As<Tensor>();
  } else if (const List* list = layout.As<List>()) {
    for (size_t i = 0; i < list->items->size(); ++i) {
      StoreState(work, (*list->items)[i], (*value.As<List>()->items)[i]);
    }
  } else if (const Tuple* tuple = layout.As<Tuple>()) {
    for (size_t i = 0; i < tuple->items->values.size(); ++i) {
      StoreState(work, tuple->items->values[i], value.As<Tuple>()->items->values[i]);
    }
  }
}

Value Eval(Work& work, const program::StateRef& e, const Context& context) {
  const Value& layout = LayoutOf(work, e.state, context.frame);
  const List* list = layout.As<List>();
  if (list && !Step(work, context.range, list->items->size())) return Value();
  return ReadStates(work, layout);
}

}  // namespace cgraph::elaborate
