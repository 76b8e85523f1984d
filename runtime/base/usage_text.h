// Errors of a command line, in the words of both commands rather than of the library that reads
// their flags.
#ifndef CGRAPH_RUNTIME_BASE_USAGE_TEXT_H_
#define CGRAPH_RUNTIME_BASE_USAGE_TEXT_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cgraph {

// Rewrites CLI11's message: what was given, and what may be. Messages of other forms stay as they
// are.
std::string UsageText(const std::string& message);

// What numbers may be that cgrun's flags and the arguments of the Python package give, and how both
// say so.
inline constexpr uint32_t kMaxWorkers = 1024;  // threads that drive a plan
inline constexpr double kMaxTimeout = 1e9;     // seconds: about 30 years fit in 64-bit nanoseconds
std::string NumberRangeText(uint64_t least, uint64_t most);  // "expected a number from 1 to 1024"
std::string ProcessesText(uint64_t most);
inline constexpr char kTimeoutText[] = "expected seconds above 0, as 1.5";

// Returns, for a flag that other compilers and runners have, the flag to use here, as "; give -n
// N". Empty for others.
std::string ForeignFlagHint(std::string_view flag);
// Returns " (did you mean `--trace`?)" for a flag that is spelt nearly so, else nothing. A word
// that only looks alike is not near: `--rate` is no misspelling of `--trace`.
std::string NearFlagHint(std::string_view flag, std::span<const std::string> flags);
// Names of a source that users write as flags; found by the look of the text, for hints alone.
struct SourceNames {
  std::vector<std::string> inputs;  // of its graphs
  std::vector<std::string> consts;
};
SourceNames ReadSourceNames(const std::string& path);
// Returns " (did you mean `--input rate=0.1`?)" where word `at` of a command line is `--rate`, and
// `rate` is among `names`; empty where it is not. `flag`: "--input".
std::string NamedFlagHint(std::span<const std::string> words, size_t at,
                          std::span<const std::string> names, const char* flag);

// Returns the message for a source where a plan is read: "x.cgraph is a source; ..."; empty for
// anything else.
std::string SourceForPlanText(std::string_view path);
// As SourceForPlanText(), for a plan where a source is read.
std::string PlanForSourceText(std::string_view path);

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_BASE_USAGE_TEXT_H_
