// Parts of values: fields, and subscripts of lists, places and tensors.
#include <fmt/format.h>

#include "compiler/elaborate/budget.h"
#include "compiler/elaborate/calls/state.h"
#include "compiler/elaborate/expressions/eval.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/expressions/lists.h"
#include "compiler/elaborate/expressions/views.h"
#include "compiler/elaborate/places/places.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/work.h"

namespace cgraph::elaborate {
namespace {

Value IndexList(Work& work, const std::vector<Value>& items, llvm::ArrayRef<Value> subscripts,
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
    Report(work, Code::kE0511, range,
           fmt::format("[{}] is outside a list of {}{}", text, length,
                       at ? FromTheEnd(*at, length) : ""));
    return Value();
  }
  llvm::ArrayRef<Value> rest = subscripts.drop_front();
  auto further = [&](const Value& item) -> Value {
    if (rest.empty() || item.poisoned()) return item;
    if (const Tensor* tensor = item.As<Tensor>()) return IndexTensor(work, *tensor, rest, range);
    if (const StateLeaf* leaf = item.As<StateLeaf>()) {
      return IndexTensor(work, ReadState(work, leaf->state), rest, range);
    }
    const List* list = item.As<List>();
    if (list) return IndexList(work, *list->items, rest, range);
    Report(work, Code::kE0511, range,
           fmt::format("too many indices: {} has none", Describe(work, item)));
    return Value();
  };
  if (at) return further(items[*at]);
  if (!Step(work, range, part.end - part.begin)) return Value();
  std::vector<Value> selected;
  for (int64_t i = part.begin; i < part.end; ++i) selected.push_back(further(items[i]));
  return MakeList(std::move(selected));
}

Value FieldOf(Work& work, const Value& base, const program::Field& field) {
  if (base.poisoned()) return base;
  const Tuple* tuple = base.As<Tuple>();
  if (tuple) {
    for (size_t i = 0; i < tuple->items->names.size(); ++i) {
      if (tuple->items->names[i] == field.name) return tuple->items->values[i];
    }
  }
  Diagnostic& diagnostic =
      Report(work, Code::kE0313, field.name_range,
             fmt::format("{} has no field `{}`", Describe(work, base), field.name));
  if (tuple != nullptr) diagnostic.Suggest(field.name_range, field.name, tuple->items->names);
  return Value();
}

Value IndexOf(Work& work, const Value& base, const program::Index& e, const Context& context) {
  std::vector<Value> subscripts;
  for (program::ExprId id : e.subscripts) {
    // `:` is everything, as the range that no extent exceeds.
    Value subscript = id.valid() ? Evaluate(work, id, context.frame) : Value(None());
    if (subscript.poisoned()) return subscript;
    if (id.valid() && !subscript.As<int64_t>() && !subscript.As<IntRange>()) {
      Report(work, Code::kE0406, work.program.exprs[id].range,
             fmt::format("an index must be an int or a range known at compile time, not {}",
                         Describe(work, subscript)));
      return Value();
    }
    subscripts.push_back(std::move(subscript));
  }
  if (base.poisoned()) return base;
  Value element;
  if (const Tensor* tensor = base.As<Tensor>()) {
    element = IndexTensor(work, *tensor, subscripts, context.range);
  } else if (const StateLeaf* leaf = base.As<StateLeaf>()) {
    element = IndexTensor(work, ReadState(work, leaf->state), subscripts, context.range);
  } else if (const PlaceArray* array = base.As<PlaceArray>()) {
    element = IndexPlaces(work, array->place, subscripts, context.range);
  } else if (const Tuple* tuple = base.As<Tuple>()) {
    element = IndexList(work, tuple->items->values, subscripts, context.range);
  } else if (const List* list = base.As<List>()) {
    element = IndexList(work, *list->items, subscripts, context.range);
  } else {
    std::optional<std::vector<Value>> items = ListItems(work, base, context.range);
    if (!items) return Value();
    element = IndexList(work, *items, subscripts, context.range);
  }
  if (!element.As<None>()) return element;
  Report(work, Code::kE0512, context.range,
         "this element is read before anything was assigned to it");
  return Value();
}

// Like Evaluate, but a state stays a layout, so that `xs[3]` reads one element and not the list.
Value EvaluateLazily(Work& work, program::ExprId id, Frame& frame) {
  const program::Expr& expr = work.program.exprs[id];
  const Context context{frame, expr.range, {}};
  if (auto* state = std::get_if<program::StateRef>(&expr.node)) {
    return Step(work, expr.range) ? LayoutOf(work, state->state, frame) : Value();
  }
  if (auto* field = std::get_if<program::Field>(&expr.node)) {
    return FieldOf(work, EvaluateLazily(work, field->base, frame), *field);
  }
  if (auto* index = std::get_if<program::Index>(&expr.node)) {
    return IndexOf(work, EvaluateLazily(work, index->base, frame), *index, context);
  }
  return Evaluate(work, id, frame);
}

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

Value Eval(Work& work, const program::Field& e, const Context& context) {
  if (StartsAtState(work.program, e.base)) {
    Value base = EvaluateLazily(work, e.base, context.frame);
    return ReadStates(work, FieldOf(work, base, e));
  }
  return FieldOf(work, Evaluate(work, e.base, context.frame), e);
}

Value Eval(Work& work, const program::Index& e, const Context& context) {
  if (!StartsAtState(work.program, e.base)) {
    return IndexOf(work, Evaluate(work, e.base, context.frame), e, context);
  }
  return ReadStates(work, IndexOf(work, EvaluateLazily(work, e.base, context.frame), e, context));
}

}  // namespace cgraph::elaborate
