// Values while elaborating.
//
// Elaboration is an interpreter: numbers, lists and places are computed, and a tensor is a
// reference to a value of the graph being built, together with how it is to travel to its next use.
// Lists and tuples are shared and copied when written, so that passing one around costs nothing and
// assigning an element of an unshared `var` list is done in place. Strings are shared, too. The
// functions that make or walk them (make.h) charge the program's budget.
#ifndef CGRAPH_COMPILER_ELABORATE_VALUES_VALUE_H_
#define CGRAPH_COMPILER_ELABORATE_VALUES_VALUE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
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

using SharedString = std::shared_ptr<const std::string>;

struct Value {
  std::variant<Poison, None, int64_t, double, bool, SharedString, Tensor, graph::InstanceId,
               PlaceArray, graph::DeviceId, StateLeaf, IntRange, List, Tuple>
      node;

  Value() = default;
  template <typename T>
  explicit Value(T value) : node(std::in_place_type<T>, std::move(value)) {}
  explicit Value(std::string text) : node(std::make_shared<const std::string>(std::move(text))) {}

  template <typename T>
  const T* As() const {
    if constexpr (std::is_same_v<T, std::string>) {
      const SharedString* text = std::get_if<SharedString>(&node);
      return text == nullptr ? nullptr : text->get();
    } else {
      return std::get_if<T>(&node);
    }
  }
  bool poisoned() const { return std::holds_alternative<Poison>(node); }
};

struct TupleItems {
  std::vector<std::string> names;  // as many as values; empty: by position only
  std::vector<Value> values;
  mutable std::map<std::string, size_t> places = {};  // by name, which Find() makes

  // Returns the value of this name, in hardly more time where there are many; null: there is none.
  const Value* Find(const std::string& name) const;
};

// The value of a call without a result.
inline Value Nothing() { return Value(Tuple{std::make_shared<TupleItems>()}); }

// Returns whether the value is an int, float or bool, which becomes a constant where a tensor is
// expected.
bool IsNumber(const Value& value);

// Names the kind for messages: "an int", "a list of 3", "a place". A tensor is "a tensor".
std::string KindText(const Value& value);
// Returns the text of scalars, "3", "0.125", "\"fc1\"", else KindText.
std::string ScalarText(const Value& value);

// Return the mend of an index, or a range, that counts from the end; empty for others.
std::string FromTheEnd(int64_t index, int64_t length);
std::string FromTheEnd(IntRange part, int64_t length);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_VALUES_VALUE_H_
