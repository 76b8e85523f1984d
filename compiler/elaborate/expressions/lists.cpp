#include "compiler/elaborate/expressions/evaluate.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/elaborate/budget.h"
#include "compiler/elaborate/calls/arguments.h"
#include "compiler/elaborate/calls/optimizers.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/eval.h"
#include "compiler/elaborate/gradients/gradients.h"
#include "compiler/elaborate/places/places.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/types/dims.h"
#include "compiler/elaborate/values/make.h"

namespace cgraph::elaborate {
namespace {

// Returns the names that zip of these gives its tuple: those of the first tuple that has any. A
// field has one name in all of them, or none; nothing where that is not so, which is reported.
std::optional<std::vector<std::string>> NamesOfZip(ElaborationContext& elaboration,
                                                   const std::vector<Actual>& actuals,
                                                   Range range) {
  std::vector<std::string> names;
  for (const Actual& actual : actuals) {
    const Tuple* tuple = actual.value.As<Tuple>();
    if (tuple == nullptr || tuple->items->names.empty()) continue;
    const std::vector<std::string>& given = tuple->items->names;
    if (names.empty()) names = given;
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] == given[i] || names[i].empty() || given[i].empty()) continue;
      Report(elaboration, Code::kE0513, range,
             fmt::format("zip of tuples with different fields: field {} is `{}` and `{}`", i,
                         names[i], given[i]));
      return std::nullopt;
    }
  }
  return names;
}

// zip(xs, ys): a list of pairs or, where one of them is a tuple, a tuple of pairs with its names.
Value Zip(ElaborationContext& elaboration, const std::vector<Actual>& actuals, Range range) {
  std::vector<std::vector<Value>> lists;
  bool has_tuple = false;
  for (const Actual& actual : actuals) {
    has_tuple |= actual.value.As<Tuple>() != nullptr;
    std::optional<std::vector<Value>> items = ElementsOf(elaboration, actual.value, actual.range);
    if (!items) return Value();
    lists.push_back(std::move(*items));
  }
  for (const std::vector<Value>& list : lists) {
    if (list.size() == lists[0].size()) continue;
    Report(elaboration, Code::kE0513, range,
           fmt::format("zip of {} of different lengths: {} and {}",
                       has_tuple ? "lists or tuples" : "lists", lists[0].size(), list.size()));
    return Value();
  }
  std::optional<std::vector<std::string>> names = NamesOfZip(elaboration, actuals, range);
  if (!names) return Value();
  std::vector<Value> tuples;
  if (!lists.empty()) tuples.reserve(lists[0].size());
  for (size_t i = 0; !lists.empty() && i < lists[0].size(); ++i) {
    std::vector<Value> values;
    for (const std::vector<Value>& list : lists) values.push_back(list[i]);
    tuples.push_back(MakeTuple(elaboration, range, {}, std::move(values)));
  }
  return has_tuple ? MakeTuple(elaboration, range, std::move(*names), std::move(tuples))
                   : MakeList(elaboration, range, std::move(tuples));
}

// items(t): each field of a tuple with its name, or its number where it has none, under the names
// of the tuple; each element of a list with its number.
Value Items(ElaborationContext& elaboration, const Actual& actual, Range range) {
  const std::optional<std::vector<Value>> items =
      ElementsOf(elaboration, actual.value, actual.range);
  if (!items) return Value();
  const Tuple* tuple = actual.value.As<Tuple>();
  const std::vector<std::string> names =
      tuple == nullptr ? std::vector<std::string>() : tuple->items->names;
  std::vector<Value> pairs;
  for (size_t i = 0; i < items->size(); ++i) {
    const bool has_name = !names.empty() && !names[i].empty();
    Value key =
        has_name ? MakeString(elaboration, range, names[i]) : Value(static_cast<int64_t>(i));
    pairs.push_back(MakeTuple(elaboration, range, {}, {std::move(key), (*items)[i]}));
  }
  return tuple == nullptr ? MakeList(elaboration, range, std::move(pairs))
                          : MakeTuple(elaboration, range, names, std::move(pairs));
}

// assert(condition, "text"): both are known while compiling, as Check has seen.
Value Assert(ElaborationContext& elaboration, const std::vector<Actual>& actuals, Range range) {
  const bool* holds = actuals[0].value.As<bool>();
  const std::string* text = actuals[1].value.As<std::string>();
  if (holds == nullptr || text == nullptr) {
    const size_t wrong = holds == nullptr ? 0 : 1;
    Report(elaboration, Code::kE0406, actuals[wrong].range,
           fmt::format("`assert` takes a compile-time {}; this is {}", wrong == 0 ? "bool" : "str",
                       Describe(elaboration, actuals[wrong].value)));
    return Value();
  }
  if (!*holds) {
    Report(elaboration, Code::kE0537, range, *text);
    return Value();
  }
  return MakeTuple(elaboration, range, {}, {});
}

}  // namespace

std::optional<std::vector<Value>> ListItems(ElaborationContext& elaboration, const Value& value,
                                            Range range) {
  if (value.poisoned()) return std::nullopt;
  if (const List* list = value.As<List>()) {
    if (!Step(elaboration, range, list->items->size())) return std::nullopt;
    return *list->items;
  }
  if (const IntRange* bounds = value.As<IntRange>()) {
    int64_t length = 0;
    if (__builtin_sub_overflow(bounds->end, bounds->begin, &length)) length = INT64_MAX;
    if (!CheckListLength(elaboration, length, range) ||
        !Step(elaboration, range, std::max<int64_t>(length, 0))) {
      return std::nullopt;
    }
    std::vector<Value> items;
    for (int64_t i = bounds->begin; i < bounds->end; ++i) items.emplace_back(i);
    return items;
  }
  if (const PlaceArray* array = value.As<PlaceArray>()) {
    return ListItems(elaboration, IndexPlaces(elaboration, array->place, {}, range), range);
  }
  Report(elaboration, Code::kE0406, range,
         fmt::format("a list is needed here, not {}", Describe(elaboration, value)));
  return std::nullopt;
}

std::optional<std::vector<Value>> ElementsOf(ElaborationContext& elaboration, const Value& value,
                                             Range range) {
  const Tuple* tuple = value.As<Tuple>();
  if (tuple == nullptr) return ListItems(elaboration, value, range);
  if (!Step(elaboration, range, tuple->items->values.size())) return std::nullopt;
  return tuple->items->values;
}

Value Eval(ElaborationContext& elaboration, const program::CallBuiltin& e, const Context& context) {
  using program::Builtin;
  if (e.builtin > Builtin::kAssert) return DimFunction(elaboration, e, context);
  if (e.builtin == Builtin::kGrad) return EvaluateGrad(elaboration, e, context);
  if (e.builtin == Builtin::kUpdateAll) return EvaluateUpdateAll(elaboration, e, context);
  if (e.builtin == Builtin::kGlobalNorm) return EvaluateGlobalNorm(elaboration, e, context);
  std::vector<Actual> actuals =
      EvaluateArguments(elaboration, e.arguments, nullptr, context.frame, context.frame);
  for (const Actual& actual : actuals) {
    if (actual.value.poisoned()) return Value();
  }
  if (e.builtin == Builtin::kAssert) return Assert(elaboration, actuals, context.range);
  if (e.builtin == Builtin::kZip) return Zip(elaboration, actuals, context.range);
  if (e.builtin == Builtin::kItems) return Items(elaboration, actuals[0], context.range);
  const Value& list = actuals[0].value;
  if (const IntRange* range = list.As<IntRange>()) {
    int64_t length = 0;
    if (!__builtin_sub_overflow(range->end, range->begin, &length)) {
      return Value(std::max<int64_t>(length, 0));
    }
  }
  if (const Tuple* tuple = list.As<Tuple>()) {
    return Value(static_cast<int64_t>(tuple->items->values.size()));
  }
  std::optional<std::vector<Value>> items = ListItems(elaboration, list, actuals[0].range);
  return items ? Value(static_cast<int64_t>(items->size())) : Value();
}

}  // namespace cgraph::elaborate
