// Parts of values: fields, and subscripts of lists, places and tensors.
#include <fmt/format.h>

#include "compiler/elaborate/budget.h"
#include "compiler/elaborate/calls/calls.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/eval.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/gradients/gradients.h"
#include "compiler/elaborate/places/places.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/values/make.h"

namespace cgraph::elaborate {
namespace {

Value IndexList(ElaborationContext& elaboration, const std::vector<Value>& items,
                llvm::ArrayRef<Value> subscripts, Range range) {
  int64_t length = items.size();
  IntRange part{0, length};
  const int64_t* at = subscripts[0].As<int64_t>();
  if (at) part = {*at, *at + 1};
  if (const IntRange* bounds = subscripts[0].As<IntRange>()) part = *bounds;
  bool inside = at ? *at >= 0 && *at < length
                   : part.begin >= 0 && part.begin <= part.end && part.end <= length;
  if (!inside) {
    std::string text = at ? std::to_string(*at) : fmt::format("{}..{}", part.begin, part.end);
    Report(elaboration, Code::kE0511, range,
           fmt::format("[{}] is outside a list of {}{}", text, length,
                       at ? FromTheEnd(*at, length) : FromTheEnd(part, length)));
    return Value();
  }
  llvm::ArrayRef<Value> rest = subscripts.drop_front();
  auto further = [&](const Value& item) -> Value {
    if (rest.empty() || item.poisoned()) return item;
    if (const Tensor* tensor = item.As<Tensor>())
      return IndexTensor(elaboration, *tensor, rest, range);
    if (const StateLeaf* leaf = item.As<StateLeaf>()) {
      return IndexTensor(elaboration, ReadState(elaboration, leaf->state), rest, range);
    }
    const List* list = item.As<List>();
    if (list) return IndexList(elaboration, *list->items, rest, range);
    Report(elaboration, Code::kE0511, range,
           fmt::format("too many indices: {} has none", Describe(elaboration, item)));
    return Value();
  };
  if (at) return further(items[*at]);
  if (!Step(elaboration, range, part.end - part.begin)) return Value();
  std::vector<Value> selected;
  for (int64_t i = part.begin; i < part.end; ++i) selected.push_back(further(items[i]));
  return MakeList(elaboration, range, std::move(selected));
}

Value FieldOf(ElaborationContext& elaboration, const Value& base, const program::Field& field) {
  if (base.poisoned()) return base;
  if (const auto* instance = base.As<graph::InstanceId>(); instance && elaboration.named_params) {
    return FieldOf(elaboration, ParamsOf(elaboration, *instance, field.name_range), field);
  }
  const Tuple* tuple = base.As<Tuple>();
  if (const Value* found = tuple ? tuple->items->Find(field.name) : nullptr) return *found;
  Diagnostic& diagnostic =
      Report(elaboration, Code::kE0313, field.name_range,
             fmt::format("{} has no field `{}`", Describe(elaboration, base), field.name));
  if (tuple != nullptr) diagnostic.Suggest(field.name_range, field.name, tuple->items->names);
  return Value();
}

Value IndexOf(ElaborationContext& elaboration, const Value& base, const program::Index& e,
              const Context& context) {
  std::vector<Value> subscripts;
  for (program::ExprId id : e.subscripts) {
    // `:` is everything, as the range that no extent exceeds.
    Value subscript = id.valid() ? Evaluate(elaboration, id, context.frame) : Value(None());
    if (subscript.poisoned()) return subscript;
    if (id.valid() && !subscript.As<int64_t>() && !subscript.As<IntRange>()) {
      Report(elaboration, Code::kE0406, elaboration.program.exprs[id].range,
             fmt::format("an index must be an int or a range known at compile time, not {}{}",
                         Describe(elaboration, subscript),
                         subscript.As<Tensor>() && base.As<Tensor>()
                             ? "; by what is known only while running, embedding(i, x) takes "
                               "rows and slice(x, dim: 0, from: i, length: n) a part"
                             : ""));
      return Value();
    }
    subscripts.push_back(std::move(subscript));
  }
  if (base.poisoned()) return base;
  Value element;
  if (const Tensor* tensor = base.As<Tensor>()) {
    element = IndexTensor(elaboration, *tensor, subscripts, context.range);
  } else if (const StateLeaf* leaf = base.As<StateLeaf>()) {
    element =
        IndexTensor(elaboration, ReadState(elaboration, leaf->state), subscripts, context.range);
  } else if (const PlaceArray* array = base.As<PlaceArray>()) {
    element = IndexPlaces(elaboration, array->place, subscripts, context.range);
  } else if (const Tuple* tuple = base.As<Tuple>()) {
    element = IndexList(elaboration, tuple->items->values, subscripts, context.range);
  } else if (const List* list = base.As<List>()) {
    element = IndexList(elaboration, *list->items, subscripts, context.range);
  } else {
    std::optional<std::vector<Value>> items = ListItems(elaboration, base, context.range);
    if (!items) return Value();
    element = IndexList(elaboration, *items, subscripts, context.range);
  }
  if (!element.As<None>()) return element;
  Report(elaboration, Code::kE0512, context.range,
         "this element is read before anything was assigned to it");
  return Value();
}

// As Evaluate(), but a state stays a layout, so that `xs[3]` reads one element and not the list.
Value EvaluateLazily(ElaborationContext& elaboration, program::ExprId id, Frame& frame) {
  const program::Expr& expr = elaboration.program.exprs[id];
  const Context context{frame, expr.range, {}};
  if (auto* state = std::get_if<program::StateRef>(&expr.node)) {
    return Step(elaboration, expr.range) ? LayoutOf(elaboration, state->state, frame) : Value();
  }
  if (auto* field = std::get_if<program::Field>(&expr.node)) {
    return FieldOf(elaboration, EvaluateLazily(elaboration, field->base, frame), *field);
  }
  if (auto* index = std::get_if<program::Index>(&expr.node)) {
    return IndexOf(elaboration, EvaluateLazily(elaboration, index->base, frame), *index, context);
  }
  return Evaluate(elaboration, id, frame);
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

Value Eval(ElaborationContext& elaboration, const program::Field& e, const Context& context) {
  if (StartsAtState(elaboration.program, e.base)) {
    Value base = EvaluateLazily(elaboration, e.base, context.frame);
    return ReadStates(elaboration, context.range, FieldOf(elaboration, base, e));
  }
  return FieldOf(elaboration, Evaluate(elaboration, e.base, context.frame), e);
}

Value Eval(ElaborationContext& elaboration, const program::Index& e, const Context& context) {
  if (!StartsAtState(elaboration.program, e.base)) {
    return IndexOf(elaboration, Evaluate(elaboration, e.base, context.frame), e, context);
  }
  return ReadStates(
      elaboration, context.range,
      IndexOf(elaboration, EvaluateLazily(elaboration, e.base, context.frame), e, context));
}

}  // namespace cgraph::elaborate
