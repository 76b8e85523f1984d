#include "compiler/elaborate/values/value.h"

#include <fmt/format.h>

#include "compiler/program/text.h"

namespace cgraph::elaborate {

const Value* TupleItems::Find(const std::string& name) const {
  if (places.empty()) {
    for (size_t i = 0; i < names.size(); ++i) places.emplace(names[i], i);
  }
  const auto found = places.find(name);
  return found == places.end() ? nullptr : &values[found->second];
}

bool IsNumber(const Value& value) {
  return value.As<int64_t>() || value.As<double>() || value.As<bool>();
}

std::string KindText(const Value& value) {
  struct Kind {
    std::string operator()(const Poison&) { return "a wrong value"; }
    std::string operator()(const None&) { return "none (not yet assigned)"; }
    std::string operator()(int64_t) { return "an int"; }
    std::string operator()(double) { return "a float"; }
    std::string operator()(bool) { return "a bool"; }
    std::string operator()(const SharedString&) { return "a str"; }
    std::string operator()(const Tensor&) { return "a tensor"; }
    std::string operator()(const graph::InstanceId&) { return "a place"; }
    std::string operator()(const PlaceArray&) { return "an array of places"; }
    std::string operator()(const graph::DeviceId&) { return "a device"; }
    std::string operator()(const StateLeaf&) { return "a state"; }
    std::string operator()(const IntRange& range) {
      return fmt::format("a range {}..{}", range.begin, range.end);
    }
    std::string operator()(const List& list) {
      return fmt::format("a list of {}", list.items->size());
    }
    std::string operator()(const Tuple& tuple) {
      if (tuple.items->values.empty()) return "nothing";
      return fmt::format("a tuple of {}", tuple.items->values.size());
    }
  };
  return std::visit(Kind(), value.node);
}

std::string ScalarText(const Value& value) {
  if (const int64_t* number = value.As<int64_t>()) return std::to_string(*number);
  if (const double* number = value.As<double>()) return program::FloatText(*number);
  if (const bool* truth = value.As<bool>()) return *truth ? "true" : "false";
  if (const std::string* text = value.As<std::string>()) return '"' + *text + '"';
  return KindText(value);
}

std::string FromTheEnd(int64_t index, int64_t length) {
  if (index >= 0 || index < -length) return "";
  return fmt::format("; indices do not count from the end: write [{}]", index + length);
}

std::string FromTheEnd(IntRange part, int64_t length) {
  if (part.begin >= 0 && part.end >= 0) return "";
  const int64_t begin = part.begin < 0 ? part.begin + length : part.begin;
  const int64_t end = part.end < 0 ? part.end + length : part.end;
  if (begin < 0 || begin > end || end > length) return "";
  return fmt::format("; indices do not count from the end: write [{}..{}]", begin, end);
}

}  // namespace cgraph::elaborate
