// Tokens of shared resources: a list of them is sorted and names a resource as often as tokens of
// it are held.
#ifndef CGRAPH_COMPILER_COST_TOKENS_H_
#define CGRAPH_COMPILER_COST_TOKENS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cgraph::cost {

// How many entries from `at` on are equal.
inline size_t RunLength(std::span<const uint32_t> held, size_t at) {
  size_t end = at + 1;
  while (end < held.size() && held[end] == held[at]) ++end;
  return end - at;
}

// `left`: by resource, the tokens that are free.
inline bool HasTokens(std::span<const uint32_t> held, const std::vector<uint32_t>& left) {
  for (size_t i = 0; i < held.size();) {
    const size_t count = RunLength(held, i);
    if (left[held[i]] < count) return false;
    i += count;
  }
  return true;
}

}  // namespace cgraph::cost

#endif  // CGRAPH_COMPILER_COST_TOKENS_H_
