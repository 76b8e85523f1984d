#include "compiler/elaborate/statements/statements.h"

#include <fmt/format.h>

#include "compiler/elaborate/budget.h"
#include "compiler/elaborate/calls/arguments.h"
#include "compiler/elaborate/calls/calls.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/types/coerce.h"
#include "compiler/elaborate/values/make.h"

namespace cgraph::elaborate {
namespace {

// Returns the element to be assigned; a list that others see too is copied first.
Value* ElementToAssign(ElaborationContext& elaboration, Value& list_value,
                       program::ExprId subscript, Frame& frame) {
  Range range = elaboration.program.exprs[subscript].range;
  std::optional<int64_t> index = EvaluateInt(elaboration, subscript, frame, "an index");
  if (!index || list_value.poisoned()) return nullptr;
  if (list_value.As<IntRange>()) {
    std::optional<std::vector<Value>> items = ListItems(elaboration, list_value, range);
    if (!items) return nullptr;
    list_value = MakeList(elaboration, range, std::move(*items));
  }
  List* list = std::get_if<List>(&list_value.node);
  if (!list) {
    Report(elaboration, Code::kE0406, range,
           fmt::format("elements of a list can be assigned, but this is {}{}",
                       Describe(elaboration, list_value),
                       list_value.As<Tensor>() ? "; x = update_row(x, row, at: i) replaces a row "
                                                 "of a tensor, x = update(x, part, at: [i]) a part"
                                               : ""));
    return nullptr;
  }
  if (list->items.use_count() > 1) {
    Value copy = MakeList(elaboration, range, *list->items);
    if (copy.poisoned()) return nullptr;
    list->items = copy.As<List>()->items;
  }
  if (*index >= 0 && *index < static_cast<int64_t>(list->items->size())) {
    return &(*list->items)[*index];
  }
  Report(elaboration, Code::kE0511, range,
         fmt::format("[{}] is outside a list of {}", *index, list->items->size()));
  return nullptr;
}

// Whether the program names it, or what it is a part of.
bool IsNamed(const graph::Graph& graph, graph::ValueId id) {
  while (graph.values[id].name.empty() && graph.values[id].base.valid()) id = graph.values[id].base;
  return !graph.values[id].name.empty();
}

void CallByLabel(ElaborationContext& elaboration, const Value& value, const std::string& label) {
  if (const Tensor* tensor = value.As<Tensor>()) {
    if (!IsNamed(elaboration.builder->graph(), tensor->value)) {
      CallByName(elaboration, value, label);
    }
  } else if (const List* list = value.As<List>(); list && !label.empty()) {
    for (size_t i = 0; i < list->items->size(); ++i) {
      CallByLabel(elaboration, (*list->items)[i], fmt::format("{}[{}]", label, i));
    }
  } else if (const Tuple* tuple = value.As<Tuple>()) {
    const std::vector<std::string>& names = tuple->items->names;
    for (size_t i = 0; i < names.size(); ++i) {
      const bool is_inner = !label.empty() && !names[i].empty();
      CallByLabel(elaboration, tuple->items->values[i],
                  is_inner ? label + "." + names[i] : names[i]);
    }
  }
}

}  // namespace

void CallByLabels(ElaborationContext& elaboration, const Value& result) {
  if (result.As<Tuple>()) CallByLabel(elaboration, result, "");
}

void CallByName(ElaborationContext& elaboration, const Value& value, const std::string& name) {
  const Tensor* tensor = value.As<Tensor>();
  if (tensor == nullptr) return;
  std::string& called = elaboration.builder->graph().values[tensor->value].name;
  if (called.empty()) called = name;
}

void AssignLocal(ElaborationContext& elaboration, const program::Assign& s, Frame& frame,
                 Range range) {
  Actual right{"", Evaluate(elaboration, s.value, frame), elaboration.program.exprs[s.value].range};
  std::optional<Value>& local = frame.locals[s.local.index];
  Value* slot = local ? &*local : nullptr;
  if (!slot) slot = &local.emplace();
  for (program::ExprId subscript : s.subscripts) {
    slot = ElementToAssign(elaboration, *slot, subscript, frame);
    if (!slot) return;
  }
  if (s.compound) {
    Actual left{"", *slot, range};
    if (slot->As<None>()) {
      Report(elaboration, Code::kE0512, range,
             "this element is read before anything was assigned to it");
      left.value = Value();
    }
    *slot = Value();  // so that a list that grows is not copied
    right.value = ApplyOperator(elaboration, *s.compound, left, right, {frame, range, {}});
  }
  *slot = std::move(right.value);
  CallByName(elaboration, *slot, (*frame.names)[s.local].name);
}

void AssignState(ElaborationContext& elaboration, const program::Assign& s, Frame& frame,
                 Range range) {
  const program::State& state = elaboration.program.states[s.state];
  const bool is_slot = frame.slots != nullptr;
  Frame& owner = is_slot ? frame : elaboration.places.instances[frame.instance.index].frame;
  const Value* target = &LayoutOf(elaboration, s.state, frame);
  program::TypeId type = state.type;
  for (program::ExprId subscript : s.subscripts) {
    Range at = elaboration.program.exprs[subscript].range;
    std::optional<int64_t> index = EvaluateInt(elaboration, subscript, frame, "an index");
    if (!index) return;
    const List* list = target->As<List>();
    if (!list) {
      Report(
          elaboration, Code::kE0406, at,
          fmt::format("state `{}` is assigned as a whole; update_row() makes a tensor with one row "
                      "replaced",
                      state.name));
      return;
    }
    if (*index < 0 || *index >= static_cast<int64_t>(list->items->size())) {
      Report(elaboration, Code::kE0511, at,
             fmt::format("[{}] is outside a list of {}", *index, list->items->size()));
      return;
    }
    target = &(*list->items)[*index];
    type = std::get<program::ListType>(elaboration.program.types[type].node).element;
  }
  Actual right{"", Evaluate(elaboration, s.value, frame, {type, &owner}),
               elaboration.program.exprs[s.value].range};
  if (s.compound) {
    Actual left{"", ReadStates(elaboration, range, *target), range};
    right.value = ApplyOperator(elaboration, *s.compound, left, right, {frame, range, {}});
  }
  Value value = Coerce(elaboration, right.value, type, owner, {"state", &state.name, state.range},
                       right.range);
  if (!value.poisoned()) StoreState(elaboration, *target, value, range);
}

}  // namespace cgraph::elaborate
