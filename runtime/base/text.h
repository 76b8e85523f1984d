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
// Returns where the loader looks for a shared library that no program is linked with:
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

// Returns "gpu[1] to gpu[7], gpu[9]" of ascending numbers; `before` is "gpu[" and `after` "]".
std::string RangesText(std::span<const uint32_t> numbers, std::string_view before,
                       std::string_view after);

// Returns a text with a # in place of numbers in brackets: "stage[#].run(#)". Texts of the same
// pattern say the same of different things.
std::string PatternOf(std::string_view text);

// What people read on a terminal: texts hold names out of plans, files and exceptions that anybody
// may have made, with control characters that a terminal would obey or marks that turn its lines
// around. So each text goes to one through these functions.

// Returns the text with `?` in place of each character that is not shown as itself (a control
// character, a mark of direction, one without a width) and of each byte that is not UTF-8. A line
// end stays, and a tab becomes a space.
std::string Printable(std::string_view text);

// Writes a message to standard error, printable. A standard error that cannot be written to is no
// error.
void Say(std::string_view text);

// Returns a result for standard output: as it is for a file or a pipe, whose reader wants its
// bytes, and printable for a terminal.
std::string ForStandardOutput(std::string_view text);

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_BASE_TEXT_H_
