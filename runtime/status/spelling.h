// Spelling help for both commands: "did you mean".
#ifndef CGRAPH_RUNTIME_STATUS_SPELLING_H_
#define CGRAPH_RUNTIME_STATUS_SPELLING_H_

#include <span>
#include <string>
#include <string_view>

namespace cgraph {

// The nearest of `candidates` to `name` by edit distance, or empty.
std::string DidYouMean(std::string_view name, std::span<const std::string> candidates);
// The same as the end of a message: " (did you mean `relu`?)", or empty.
std::string DidYouMeanHint(std::string_view name, std::span<const std::string> candidates);
// Insertions, deletions, replacements and swaps of neighbours, of the first 64 bytes.
size_t EditDistance(std::string_view a, std::string_view b);

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_STATUS_SPELLING_H_
