// Values while elaborating.
//
// Elaboration is an interpreter: numbers, lists and places are computed, and a tensor is a
// reference to a value of the graph being built, together with how it is to travel to its next use.
// Lists and tuples are shared and copied when written, so that passing one around costs nothing and
// assigning an element of an unshared `var` list is done in place.
#ifndef CGRAPH_COMPILER_ELABORATE_VALUES_VALUE_H_
#define CGRAPH_COMPILER_ELABORATE_VALUES_VALUE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/base/transport.h"
#include "compiler/graph/graph.h"
#include "compiler/program/program.h"

namespace cgraph::elaborate {

struct Value;

struct Poison {};  // stands for a value whose fault has been reported
struct None {};    // a list element that is not yet assigned
struct Tensor {
  graph::ValueId value;
  TransportRequest via;
  Range use;  // where the caller of a method named it; invalid: where it stands
};
struct PlaceArray {
  program::PlaceId place;
};
struct StateLeaf {  // in the layout of an instance's state only: not read yet
  graph::StateId state;
};
struct IntRange {  // a..b, not yet written out as a list
  int64_t begin = 0;
  int64_t end = 0;
};
struct List {
  std::shared_ptr<std::vector<Value>> items;
};
struct TupleItems;
struct Tuple {
  std::shared_ptr<TupleItems> items;
};

struct Value {
  std::variant<Poison, None, int64_t, double, bool, std::string, Tensor, graph::InstanceId,
               PlaceArray, graph::DeviceId, StateLeaf, IntRange, List, Tuple>
      node;

  Value() = default;
  template <typename T>
  explicit Value(T value) : node(std::in_place_type<T>, std::move(value)) {}

  template <typename T>
  const T* As() const { return std::get_if<T>(&node); }
  bool poisoned() const { return std::holds_alternative<Poison>(node); }
};

struct TupleItems {
  std::vector<std::string> names;  // as many as values; empty: by position only
  std::vector<Value> values;
};

inline Value MakeList(std::vector<Value> items) {
  return Value(List{std::make_shared<std::vector<Value>>(std::move(items))});
}
inline Value MakeTuple(std::vector<std::string> names, std::vector<Value> values) {
  return Value(
      Tuple{std::make_shared<TupleItems>(TupleItems{std::move(names), std::move(values)})});
}

// int, float or bool: what becomes a constant where a tensor is expected.
bool IsNumber(const Value& value);
// A number, or a list of nothing else (and of something).
bool IsNumeric(const Value& value);

// "an int", "a list of 3", "a place": for messages. A tensor is "a tensor".
std::string KindText(const Value& value);
// "3", "0.125", "\"fc1\"" for scalars, else KindText.
std::string ScalarText(const Value& value);

// `make(leaf)` in place of every tensor (or state leaf) in a tree of lists and tuples.
template <typename Make>
Value MapLeaves(const Value& value, Make&& make) {
  if (const List* list = value.As<List>()) {
    std::vector<Value> items;
    items.reserve(list->items->size());
    for (const Value& item : *list->items) items.push_back(MapLeaves(item, make));
    return MakeList(std::move(items));
  }
  if (const Tuple* tuple = value.As<Tuple>()) {
    std::vector<Value> items;
    for (const Value& item : tuple->items->values) items.push_back(MapLeaves(item, make));
    return MakeTuple(tuple->items->names, std::move(items));
  }
  return value.As<Tensor>() || value.As<StateLeaf>() ? make(value) : value;
}

// The same, every tensor of it travelling by `via` from now on: the last one said is the nearest to
// the use.
Value WithVia(const Value& value, const TransportRequest& via);

// The mend of an index that counts from the end; empty for others.
std::string FromTheEnd(int64_t index, int64_t length);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_VALUES_VALUE_H_
