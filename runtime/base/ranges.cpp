#include "runtime/base/ranges.h"

#include <algorithm>

namespace cgraph {

std::string RangesText(std::span<const uint32_t> numbers, std::string_view before,
                       std::string_view after) {
  std::string text;
  const auto add = [&](const char* joint, uint32_t number) {
    if (!text.empty()) text += joint;
    text.append(before).append(std::to_string(number)).append(after);
  };
  for (size_t first = 0, end = 0; first < numbers.size(); first = end) {
    end = first + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    add(", ", numbers[first]);
    if (end - first > 1) add(end - first == 2 ? ", " : " to ", numbers[end - 1]);
  }
  return text;
}

std::string PatternOf(std::string_view text) {
  std::string shape;
  for (size_t at = 0; at < text.size(); ++at) {
    shape += text[at];
    if (text[at] != '[' && text[at] != '(') continue;
    const size_t end = std::min(text.find_first_not_of("0123456789-, ", at + 1), text.size());
    if (end == at + 1 || end == text.size() || text[end] != (text[at] == '[' ? ']' : ')')) continue;
    shape += '#';
    at = end - 1;
  }
  return shape;
}

}  // namespace cgraph
