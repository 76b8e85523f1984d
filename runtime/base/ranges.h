// Many numbers as text for people.
#ifndef CGRAPH_RUNTIME_BASE_RANGES_H_
#define CGRAPH_RUNTIME_BASE_RANGES_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cgraph {

// Returns "gpu[1] to gpu[7], gpu[9]" of ascending numbers; `before` is "gpu[" and `after` "]".
std::string RangesText(std::span<const uint32_t> numbers, std::string_view before,
                       std::string_view after);

// Returns a text with a # in place of numbers in brackets: "stage[#].run(#)". Texts of the same
// pattern say the same of different things.
std::string PatternOf(std::string_view text);

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_BASE_RANGES_H_
