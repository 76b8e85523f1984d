// Functions that make lists, tuples and strings, and walk them as trees, each element for a step of
// the budget. The reason: a list that stands twice in another one, forty times over, has 2^40
// leaves. Where the steps are used up that is reported, and the value is poisoned.
#ifndef CGRAPH_COMPILER_ELABORATE_VALUES_MAKE_H_
#define CGRAPH_COMPILER_ELABORATE_VALUES_MAKE_H_

#include <string>
#include <utility>
#include <vector>

#include "compiler/elaborate/budget.h"
#include "compiler/elaborate/values/value.h"

namespace cgraph::elaborate {

Value MakeList(ElaborationContext& elaboration, Range range, std::vector<Value> items);
// `names`: as many as values; empty, or all of them empty: by position only.
Value MakeTuple(ElaborationContext& elaboration, Range range, std::vector<std::string> names,
                std::vector<Value> values);
Value MakeString(ElaborationContext& elaboration, Range range, std::string text);

// Returns whether the value is a number, or a nonempty list of nothing but numbers.
bool IsNumeric(ElaborationContext& elaboration, Range range, const Value& value);

// Calls `make(leaf)` in place of every tensor (or state leaf) in a tree of lists and tuples.
template <typename Make>
Value MapLeaves(ElaborationContext& elaboration, Range range, const Value& value, Make&& make) {
  const List* list = value.As<List>();
  const Tuple* tuple = value.As<Tuple>();
  if (!list && !tuple) return value.As<Tensor>() || value.As<StateLeaf>() ? make(value) : value;
  const std::vector<Value>& from = list ? *list->items : tuple->items->values;
  if (!Step(elaboration, range, from.size() + 1)) return Value();
  std::vector<Value> items;
  items.reserve(from.size());
  for (const Value& item : from) items.push_back(MapLeaves(elaboration, range, item, make));
  return list ? MakeList(elaboration, range, std::move(items))
              : MakeTuple(elaboration, range, tuple->items->names, std::move(items));
}

// Returns the same value with every tensor of it travelling by `via` from now on: the last one
// wins, since it is the nearest to the use.
Value WithVia(ElaborationContext& elaboration, Range range, const Value& value,
              const TransportRequest& via);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_VALUES_MAKE_H_
