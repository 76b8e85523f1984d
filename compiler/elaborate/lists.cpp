// Lists and tuples: making, indexing, and going through them.
#include "compiler/base/limits.h"
#include "compiler/elaborate/elaborator.h"
#include "fmt/format.h"

namespace cgraph::elaboration {
namespace {

// A turn costs as much as this many expressions, so that a loop without end ends soon.
constexpr int64_t kStepsPerTurn = 5;

}  // namespace

Value Elaborator::Eval(const program::Tuple& e, const Context& context) {
  const program::TupleType* type = nullptr;
  if (context.expected.valid()) {
    type = std::get_if<program::TupleType>(&program_.types[context.expected.type].node);
  }
  std::vector<std::string> names;
  std::vector<Value> values;
  bool named = false;
  for (size_t i = 0; i < e.fields.size(); ++i) {
    Expected expected;
    if (type && i < type->fields.size()) expected = {type->fields[i].type, context.expected.frame};
    values.push_back(Evaluate(e.fields[i].value, context.frame, expected));
    names.push_back(e.fields[i].label);
    named |= !e.fields[i].label.empty();
  }
  if (!named) names.clear();
  return MakeTuple(std::move(names), std::move(values));
}

Value Elaborator::Eval(const program::List& e, const Context& context) {
  Expected expected;
  if (context.expected.valid()) {
    const program::Type& type = program_.types[context.expected.type];
    if (auto* list = std::get_if<program::ListType>(&type.node)) {
      expected = {list->element, context.expected.frame};
    }
  }
  std::vector<Value> items;
  for (program::ExprId item : e.items) items.push_back(Evaluate(item, context.frame, expected));
  return MakeList(std::move(items));
}

Value Elaborator::Eval(const program::Comprehension& e, const Context& context) {
  std::vector<Value> items;
  if (!RunClauses(e, 0, context, items)) return Value();
  return MakeList(std::move(items));
}

bool Elaborator::RunClauses(const program::Comprehension& e, size_t index, const Context& context,
                            std::vector<Value>& items) {
  if (index == e.clauses.size()) {
    Expected expected;
    if (context.expected.valid()) {
      const program::Type& type = program_.types[context.expected.type];
      if (auto* list = std::get_if<program::ListType>(&type.node)) {
        expected = {list->element, context.expected.frame};
      }
    }
    items.push_back(Evaluate(e.element, context.frame, expected));
    return CheckListLength(items.size(), context.range);
  }
  const program::Comprehension::Clause& clause = e.clauses[index];
  return Iterate(clause.pattern, clause.tuple_pattern, clause.list, context.frame, [&] {
    if (clause.condition.valid()) {
      std::optional<bool> taken = EvaluateCondition(clause.condition, context.frame);
      if (!taken) return false;
      if (!*taken) return true;
    }
    return RunClauses(e, index + 1, context, items);
  });
}

bool Elaborator::CheckListLength(int64_t length, Range range) {
  if (length <= kMaxListElements) return Step(range);
  Report(Code::kE0521, range,
         fmt::format("a list of more than {} elements: a loop over a..b needs no list",
                     kMaxListElements));
  stopped_ = true;
  return false;
}

// The elements of whatever can be gone through, written out.
std::optional<std::vector<Value>> Elaborator::ListItems(const Value& value, Range range) {
  if (value.poisoned()) return std::nullopt;
  if (const List* list = value.As<List>()) {
    if (!Step(range, list->items->size())) return std::nullopt;
    return *list->items;
  }
  if (const IntRange* bounds = value.As<IntRange>()) {
    int64_t length = 0;
    if (__builtin_sub_overflow(bounds->end, bounds->begin, &length)) length = kMaxListElements + 1;
    if (!CheckListLength(length, range) || !Step(range, std::max<int64_t>(length, 0))) {
      return std::nullopt;
    }
    std::vector<Value> items;
    for (int64_t i = bounds->begin; i < bounds->end; ++i) items.emplace_back(i);
    return items;
  }
  if (const PlaceArray* array = value.As<PlaceArray>()) {
    return ListItems(IndexPlaces(array->place, {}, range), range);
  }
  Report(Code::kE0406, range, fmt::format("a list is needed here, not {}", Describe(value)));
  return std::nullopt;
}

// Runs `turn` once per element; false when it, or the list, failed.
bool Elaborator::Iterate(const std::vector<program::LocalId>& pattern, bool tuple_pattern,
                         program::ExprId list_id, Frame& frame, llvm::function_ref<bool()> turn) {
  Range range = program_.exprs[list_id].range;
  Value list = Evaluate(list_id, frame);
  if (list.poisoned()) return false;
  if (!tuple_pattern) loops_.push_back({&(*frame.names)[pattern[0]].name, &frame, pattern[0]});
  bool going = true;
  if (const IntRange* bounds = list.As<IntRange>()) {  // not written out: it may be long
    for (int64_t i = bounds->begin; going && i < bounds->end; ++i) {
      going = Step(range, kStepsPerTurn) &&
              BindPattern(pattern, tuple_pattern, Value(i), frame, range) && turn();
    }
  } else if (std::optional<std::vector<Value>> items = ListItems(list, range)) {
    for (size_t i = 0; going && i < items->size(); ++i) {
      going = Step(range, kStepsPerTurn) &&
              BindPattern(pattern, tuple_pattern, (*items)[i], frame, range) && turn();
    }
  } else {
    going = false;
  }
  if (!tuple_pattern) loops_.pop_back();
  return going;
}

bool Elaborator::BindPattern(const std::vector<program::LocalId>& pattern, bool tuple_pattern,
                             const Value& value, Frame& frame, Range range) {
  if (!tuple_pattern) {
    frame.locals[pattern[0].index] = value;
    return true;
  }
  const Tuple* tuple = value.As<Tuple>();
  if (tuple && tuple->items->values.size() == pattern.size()) {
    for (size_t i = 0; i < pattern.size(); ++i) {
      frame.locals[pattern[i].index] = tuple->items->values[i];
    }
    return true;
  }
  for (program::LocalId local : pattern) frame.locals[local.index] = Value();
  if (!value.poisoned()) {
    Report(Code::kE0513, range,
           fmt::format("a pattern of {} names does not match {}", pattern.size(),
                       Describe(value)));
  }
  return false;
}

// ---- parts --------------------------------------------------------------------------------------

// Like Evaluate, but a state stays a layout, so that `xs[3]` reads one element and not the list.
Value Elaborator::EvaluateLazily(program::ExprId id, Frame& frame) {
  const program::Expr& expr = program_.exprs[id];
  const Context context{frame, expr.range, {}};
  if (auto* state = std::get_if<program::StateRef>(&expr.node)) {
    return Step(expr.range) ? LayoutOf(state->state, frame) : Value();
  }
  if (auto* field = std::get_if<program::Field>(&expr.node)) {
    return FieldOf(EvaluateLazily(field->base, frame), *field);
  }
  if (auto* index = std::get_if<program::Index>(&expr.node)) {
    return IndexOf(EvaluateLazily(index->base, frame), *index, context);
  }
  return Evaluate(id, frame);
}

namespace {

bool StartsAtState(const program::Program& program, program::ExprId id) {
  for (;;) {
    const auto& node = program.exprs[id].node;
    if (auto* field = std::get_if<program::Field>(&node)) {
      id = field->base;
    } else if (auto* index = std::get_if<program::Index>(&node)) {
      id = index->base;
    } else {
      return std::holds_alternative<program::StateRef>(node);
    }
  }
}

}  // namespace

Value Elaborator::Eval(const program::Field& e, const Context& context) {
  if (StartsAtState(program_, e.base)) {
    Value base = EvaluateLazily(e.base, context.frame);
    return ReadStates(FieldOf(base, e));
  }
  return FieldOf(Evaluate(e.base, context.frame), e);
}

Value Elaborator::Eval(const program::Index& e, const Context& context) {
  if (!StartsAtState(program_, e.base)) {
    return IndexOf(Evaluate(e.base, context.frame), e, context);
  }
  return ReadStates(IndexOf(EvaluateLazily(e.base, context.frame), e, context));
}

Value Elaborator::FieldOf(const Value& base, const program::Field& field) {
  if (base.poisoned()) return base;
  const Tuple* tuple = base.As<Tuple>();
  if (tuple) {
    for (size_t i = 0; i < tuple->items->names.size(); ++i) {
      if (tuple->items->names[i] == field.name) return tuple->items->values[i];
    }
  }
  Diagnostic& diagnostic = Report(Code::kE0313, field.name_range,
                                  fmt::format("{} has no field `{}`", Describe(base), field.name));
  if (tuple != nullptr) diagnostic.Suggest(field.name_range, field.name, tuple->items->names);
  return Value();
}

Value Elaborator::IndexOf(const Value& base, const program::Index& e, const Context& context) {
  std::vector<Value> subscripts;
  for (program::ExprId id : e.subscripts) {
    // `:` is everything, as the range that no extent exceeds.
    Value subscript = id.valid() ? Evaluate(id, context.frame) : Value(None());
    if (subscript.poisoned()) return subscript;
    if (id.valid() && !subscript.As<int64_t>() && !subscript.As<IntRange>()) {
      Report(Code::kE0406, program_.exprs[id].range,
             fmt::format("an index must be an int or a range known at compile time, not {}",
                         Describe(subscript)));
      return Value();
    }
    subscripts.push_back(std::move(subscript));
  }
  if (base.poisoned()) return base;
  Value element;
  if (const Tensor* tensor = base.As<Tensor>()) {
    element = IndexTensor(*tensor, subscripts, context.range);
  } else if (const StateLeaf* leaf = base.As<StateLeaf>()) {
    element = IndexTensor(ReadState(leaf->state), subscripts, context.range);
  } else if (const PlaceArray* array = base.As<PlaceArray>()) {
    element = IndexPlaces(array->place, subscripts, context.range);
  } else if (const Tuple* tuple = base.As<Tuple>()) {
    element = IndexList(tuple->items->values, subscripts, context.range);
  } else if (const List* list = base.As<List>()) {
    element = IndexList(*list->items, subscripts, context.range);
  } else {
    std::optional<std::vector<Value>> items = ListItems(base, context.range);
    if (!items) return Value();
    element = IndexList(*items, subscripts, context.range);
  }
  if (!element.As<None>()) return element;
  Report(Code::kE0512, context.range, "this element is read before anything was assigned to it");
  return Value();
}

Value Elaborator::IndexList(const std::vector<Value>& items, llvm::ArrayRef<Value> subscripts,
                            Range range) {
  int64_t length = items.size();
  IntRange part{0, length};
  const int64_t* at = subscripts[0].As<int64_t>();
  if (at) part = {*at, *at + 1};
  if (const IntRange* bounds = subscripts[0].As<IntRange>()) part = *bounds;
  bool inside = at ? *at >= 0 && *at < length
                   : part.begin >= 0 && part.begin <= part.end && part.end <= length;
  if (!inside) {
    std::string text = at ? std::to_string(*at) : fmt::format("{}..{}", part.begin, part.end);
    Report(Code::kE0511, range, fmt::format("[{}] is outside a list of {}", text, length));
    return Value();
  }
  llvm::ArrayRef<Value> rest = subscripts.drop_front();
  auto further = [&](const Value& item) -> Value {
    if (rest.empty() || item.poisoned()) return item;
    if (const Tensor* tensor = item.As<Tensor>()) return IndexTensor(*tensor, rest, range);
    if (const StateLeaf* leaf = item.As<StateLeaf>()) {
      return IndexTensor(ReadState(leaf->state), rest, range);
    }
    const List* list = item.As<List>();
    if (list) return IndexList(*list->items, rest, range);
    Report(Code::kE0511, range, fmt::format("too many indices: {} has none", Describe(item)));
    return Value();
  };
  if (at) return further(items[*at]);
  if (!Step(range, part.end - part.begin)) return Value();
  std::vector<Value> selected;
  for (int64_t i = part.begin; i < part.end; ++i) selected.push_back(further(items[i]));
  return MakeList(std::move(selected));
}

Value Elaborator::Zip(const std::vector<Actual>& actuals, Range range) {
  std::vector<std::vector<Value>> lists;
  for (const Actual& actual : actuals) {
    std::optional<std::vector<Value>> items = ListItems(actual.value, actual.range);
    if (!items) return Value();
    lists.push_back(std::move(*items));
  }
  for (const std::vector<Value>& list : lists) {
    if (list.size() == lists[0].size()) continue;
    Report(Code::kE0513, range,
           fmt::format("zip of lists of different lengths: {} and {}", lists[0].size(),
                       list.size()));
    return Value();
  }
  std::vector<Value> tuples;
  for (size_t i = 0; !lists.empty() && i < lists[0].size(); ++i) {
    std::vector<Value> values;
    for (const std::vector<Value>& list : lists) values.push_back(list[i]);
    tuples.push_back(MakeTuple({}, std::move(values)));
  }
  return MakeList(std::move(tuples));
}

}  // namespace cgraph::elaboration
