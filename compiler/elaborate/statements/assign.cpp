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

// Returns the number of an element in a list or a tuple of `count`; reports one that is outside.
std::optional<size_t> PlaceOf(ElaborationContext& elaboration, const program::Assign::Part& part,
                              const std::vector<Value>& items, const char* what, Frame& frame) {
  const std::optional<int64_t> index = EvaluateInt(elaboration, part.subscript, frame, "an index");
  if (!index) return std::nullopt;
  if (*index >= 0 && *index < static_cast<int64_t>(items.size())) return *index;
  Report(elaboration, Code::kE0511, elaboration.program.exprs[part.subscript].range,
         fmt::format("[{}] is outside a {} of {}", *index, what, items.size()));
  return std::nullopt;
}

// Returns the place of a field, or of an element by its number, in a tuple.
std::optional<size_t> PlaceIn(ElaborationContext& elaboration, const program::Assign::Part& part,
                              const TupleItems& items, Frame& frame) {
  if (part.subscript.valid()) return PlaceOf(elaboration, part, items.values, "tuple", frame);
  if (const Value* found = items.Find(part.field)) return found - items.values.data();
  Report(elaboration, Code::kE0313, part.range,
         fmt::format("a tuple of {} has no field `{}`", items.values.size(), part.field))
      .Suggest(part.range, part.field, items.names);
  return std::nullopt;
}

// Returns the element of a `var` to be assigned; a list or a tuple that others see too is copied
// first.
Value* ElementToAssign(ElaborationContext& elaboration, Value& whole,
                       const program::Assign::Part& part, Frame& frame) {
  if (whole.poisoned()) return nullptr;
  if (whole.As<IntRange>()) {
    std::optional<std::vector<Value>> items = ListItems(elaboration, whole, part.range);
    if (!items) return nullptr;
    whole = MakeList(elaboration, part.range, std::move(*items));
  }
  if (Tuple* tuple = std::get_if<Tuple>(&whole.node)) {
    const std::optional<size_t> at = PlaceIn(elaboration, part, *tuple->items, frame);
    if (!at) return nullptr;
    if (tuple->items.use_count() > 1) {
      const Value copy =
          MakeTuple(elaboration, part.range, tuple->items->names, tuple->items->values);
      if (copy.poisoned()) return nullptr;
      tuple->items = copy.As<Tuple>()->items;
    }
    return &tuple->items->values[*at];
  }
  List* list = std::get_if<List>(&whole.node);
  if (!list || !part.subscript.valid()) {
    Report(elaboration, Code::kE0406, part.range,
           fmt::format("elements of a list{} can be assigned, but this is {}{}",
                       part.subscript.valid() ? "" : " or fields of a tuple",
                       Describe(elaboration, whole),
                       whole.As<Tensor>() ? "; x = update_row(x, row, at: i) replaces a row "
                                            "of a tensor, x = update(x, part, at: [i]) a part"
                                          : ""));
    return nullptr;
  }
  const std::optional<size_t> at = PlaceOf(elaboration, part, *list->items, "list", frame);
  if (!at) return nullptr;
  if (list->items.use_count() > 1) {
    Value copy = MakeList(elaboration, part.range, *list->items);
    if (copy.poisoned()) return nullptr;
    list->items = copy.As<List>()->items;
  }
  return &(*list->items)[*at];
}

// StateElement: a part of a state that is assigned, and what it is called in messages.
struct StateElement {
  const Value* layout;
  program::TypeId type;
  std::string path;          // "w.rest[0]"
  bool is_of_tuple = false;  // else all steps were into lists
};

// Steps from a list or a tuple of states to one of its elements; false where that is reported.
bool StepInto(ElaborationContext& elaboration, const program::State& state,
              const program::Assign::Part& part, Frame& frame, StateElement& element) {
  const auto& type = elaboration.program.types[element.type].node;
  if (const Tuple* tuple = element.layout->As<Tuple>()) {
    const std::optional<size_t> at = PlaceIn(elaboration, part, *tuple->items, frame);
    if (!at) return false;
    element.layout = &tuple->items->values[*at];
    element.type = std::get<program::TupleType>(type).fields[*at].type;
    element.path += part.subscript.valid() ? fmt::format("[{}]", *at) : "." + part.field;
    element.is_of_tuple = true;
    return true;
  }
  const List* list = element.layout->As<List>();
  if (!list || !part.subscript.valid()) {
    Report(elaboration, Code::kE0406, part.range,
           fmt::format("state `{}` is assigned as a whole; update_row() makes a tensor with one "
                       "row replaced",
                       state.name));
    return false;
  }
  const std::optional<size_t> at = PlaceOf(elaboration, part, *list->items, "list", frame);
  if (!at) return false;
  element.layout = &(*list->items)[*at];
  element.type = std::get<program::ListType>(type).element;
  element.path += fmt::format("[{}]", *at);
  return true;
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
  for (const program::Assign::Part& part : s.parts) {
    slot = ElementToAssign(elaboration, *slot, part, frame);
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
  StateElement target{&LayoutOf(elaboration, s.state, frame), state.type, state.name};
  for (const program::Assign::Part& part : s.parts) {
    if (!StepInto(elaboration, state, part, frame, target)) return;
  }
  Actual right{"", Evaluate(elaboration, s.value, frame, {target.type, &owner}),
               elaboration.program.exprs[s.value].range};
  if (s.compound) {
    Actual left{"", ReadStates(elaboration, range, *target.layout), range};
    right.value = ApplyOperator(elaboration, *s.compound, left, right, {frame, range, {}});
  }
  Value value =
      Coerce(elaboration, right.value, target.type, owner,
             {"state", target.is_of_tuple ? &target.path : &state.name, state.range}, right.range);
  if (!value.poisoned()) StoreState(elaboration, *target.layout, value, range);
}

}  // namespace cgraph::elaborate
