// Statements. Each returns whether the block goes on: not after `return`, nor when what decides the
// way (a condition, a loop's list) is wrong, since whatever follows would be reported in vain.
#include "compiler/elaborate/elaborator.h"
#include "fmt/format.h"

namespace cgraph::elaboration {

bool Elaborator::ExecuteBlock(const std::vector<program::StatementId>& statements, Frame& frame) {
  for (program::StatementId id : statements) {
    const program::Statement& statement = program_.statements[id];
    if (!Step(statement.range)) return false;
    bool on = std::visit([&](const auto& s) { return Execute(s, frame, statement.range); },
                         statement.node);
    if (!on) return false;
  }
  return true;
}

bool Elaborator::Execute(const program::Bind& s, Frame& frame, Range) {
  Range range = program_.exprs[s.value].range;
  Expected expected;
  if (s.type.valid()) expected = {s.type, &frame};
  Value value = s.via ? EvaluateVia(s.value, JourneyOf(*s.via), frame, expected)
                      : Evaluate(s.value, frame, expected);
  const std::string* name = s.tuple_pattern ? nullptr : &(*frame.names)[s.pattern[0]].name;
  if (s.type.valid()) {
    Subject subject{s.is_var ? "the type hint of var" : "the type hint of let", name,
                    program_.types[s.type].range};
    value = AdaptHint(value, s.type, frame, subject, range);
  }
  BindPattern(s.pattern, s.tuple_pattern, value, frame, range);
  for (program::LocalId local : s.pattern) {  // dumps and drawings call a value by its first name
    const std::optional<Value>& bound = frame.locals[local.index];
    const Tensor* tensor = bound ? bound->As<Tensor>() : nullptr;
    if (!tensor) continue;
    std::string& called = builder_->graph().values[tensor->value].name;
    if (called.empty()) called = (*frame.names)[local].name;
  }
  return true;
}

bool Elaborator::Execute(const program::For& s, Frame& frame, Range) {
  bool on = Iterate(s.pattern, s.tuple_pattern, s.list, frame,
                    [&] { return ExecuteBlock(s.body, frame); });
  if (!on && !frame.result) frame.result = Value();
  return on;
}

bool Elaborator::Execute(const program::IfStatement& s, Frame& frame, Range) {
  std::optional<bool> condition = EvaluateCondition(s.condition, frame);
  if (condition) return ExecuteBlock(*condition ? s.then_body : s.else_body, frame);
  frame.result = Value();
  return false;
}

bool Elaborator::Execute(const program::Return& s, Frame& frame, Range) {
  Expected expected;
  if (frame.signature && frame.signature->result.valid()) {
    expected = {frame.signature->result, &frame};
  }
  frame.result = Evaluate(s.value, frame, expected);
  frame.result_range = program_.exprs[s.value].range;
  return false;
}

bool Elaborator::Execute(const program::Evaluate& s, Frame& frame, Range) {
  Evaluate(s.call, frame);
  return true;
}

bool Elaborator::Execute(const program::Assign& s, Frame& frame, Range range) {
  if (s.state.valid()) {
    AssignState(s, frame, range);
  } else {
    AssignLocal(s, frame, range);
  }
  return true;
}

void Elaborator::AssignLocal(const program::Assign& s, Frame& frame, Range range) {
  Actual right{"", Evaluate(s.value, frame), program_.exprs[s.value].range};
  std::optional<Value>& local = frame.locals[s.local.index];
  Value* slot = local ? &*local : nullptr;
  if (!slot) slot = &local.emplace();
  for (program::ExprId subscript : s.subscripts) {
    slot = Element(*slot, subscript, frame);
    if (!slot) return;
  }
  if (s.compound) {
    Actual left{"", *slot, range};
    if (slot->As<None>()) {
      Report(Code::kE0512, range, "this element is read before anything was assigned to it");
      left.value = Value();
    }
    *slot = Value();  // so that a list that grows is not copied
    right.value = Binary(*s.compound, left, right, {frame, range, {}});
  }
  *slot = std::move(right.value);
}

// The element to be assigned; a list that others see too is copied first.
Value* Elaborator::Element(Value& list_value, program::ExprId subscript, Frame& frame) {
  Range range = program_.exprs[subscript].range;
  std::optional<int64_t> index = EvaluateInt(subscript, frame, "an index");
  if (!index || list_value.poisoned()) return nullptr;
  if (list_value.As<IntRange>()) {
    std::optional<std::vector<Value>> items = ListItems(list_value, range);
    if (!items) return nullptr;
    list_value = MakeList(std::move(*items));
  }
  List* list = std::get_if<List>(&list_value.node);
  if (!list) {
    Report(Code::kE0406, range,
           fmt::format("elements of a list can be assigned, but this is {}", Describe(list_value)));
    return nullptr;
  }
  if (list->items.use_count() > 1) {
    if (!Step(range, list->items->size())) return nullptr;
    list->items = std::make_shared<std::vector<Value>>(*list->items);
  }
  if (*index >= 0 && *index < static_cast<int64_t>(list->items->size())) {
    return &(*list->items)[*index];
  }
  Report(Code::kE0511, range,
         fmt::format("[{}] is outside a list of {}", *index, list->items->size()));
  return nullptr;
}

}  // namespace cgraph::elaboration
