// Numbers and other facts as text for people.
#ifndef CGRAPH_RUNTIME_BASE_TEXT_H_
#define CGRAPH_RUNTIME_BASE_TEXT_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cgraph {

// Returns "33 ps", "1.204 us": the largest unit in which the time is at least 1, at most three
// decimals.
std::string TimeText(uint64_t picoseconds);
std::string BytesText(uint64_t bytes);  // "24.1 KiB"
// Returns where the loader looks for a shared library that nobody is linked with:
// "LD_LIBRARY_PATH (not set), the system's folders".
std::string LoaderFoldersText();
// Returns "1 graph", "2 graphs".
std::string Counted(uint64_t count, std::string_view noun);

// Lists of texts without line ends as one text, and back.
std::string JoinLines(std::span<const std::string> lines);
std::vector<std::string> SplitLines(std::string_view text);

// In double quotes, with escapes, as JSON and Graphviz's dot read it; and what is between them.
std::string Quoted(std::string_view text);
std::string Escaped(std::string_view text);

// Returns the nearest of `candidates` to `name` by edit distance, or empty.
std::string DidYouMean(std::string_view name, std::span<const std::string> candidates);
// As DidYouMean(), as the end of a message: " (did you mean `relu`?)", or empty.
std::string DidYouMeanHint(std::string_view name, std::span<const std::string> candidates);
// Returns the number of insertions, deletions, replacements and swaps of neighbours, in the first
// 64 bytes.
size_t EditDistance(std::string_view a, std::string_view b);

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_BASE_TEXT_H_
