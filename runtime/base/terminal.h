// What people read on a terminal. Texts hold names out of plans, files and exceptions that anybody
// may have made, with control characters that a terminal would obey or marks that turn its lines
// around. So each text goes to one through these functions.
#ifndef CGRAPH_RUNTIME_BASE_TERMINAL_H_
#define CGRAPH_RUNTIME_BASE_TERMINAL_H_

#include <string>
#include <string_view>

namespace cgraph {

// Returns the text with `?` in place of each character that is not shown as itself (a control
// character, a mark of direction, one without a width) and of each byte that is not UTF-8. A line
// end stays, and a tab becomes a space.
std::string Printable(std::string_view text);

// Writes a message to standard error, printable. Where that cannot be written nobody reads it,
// which is no error.
void Say(std::string_view text);

// Returns a result for standard output: as it is for a file or a pipe, whose reader wants its
// bytes, and printable for a terminal.
std::string ForStandardOutput(std::string_view text);

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_BASE_TERMINAL_H_
