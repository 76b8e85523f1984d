// What a command line of cgrun may have meant by words that no flag takes.
#ifndef CGRAPH_RUNTIME_COMMAND_UNKNOWN_WORDS_H_
#define CGRAPH_RUNTIME_COMMAND_UNKNOWN_WORDS_H_

#include <string>
#include <vector>

namespace cgraph::command {

// Returns what to say of the first of the `unknown` words, with what to write instead: an input or
// const of the file that the line names, the flag of another tool's, or one that is spelt nearly
// so. `line` has all words, `flags` all long flags, as "--input".
std::string UnknownWordText(const std::vector<std::string>& unknown,
                            const std::vector<std::string>& line,
                            const std::vector<std::string>& flags);

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_UNKNOWN_WORDS_H_
