// Texts in drawings. Names come from users and from plan files that anybody may have written, so
// whatever ends up in a picture is made harmless here: it is printable, and the format's own marks
// are escaped.
#ifndef CGRAPH_COMPILER_INSPECT_DRAW_FORMATS_TEXT_H_
#define CGRAPH_COMPILER_INSPECT_DRAW_FORMATS_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cgraph {

// Cuts each line to so many characters; the last one stands for the rest.
std::string Shortened(std::string_view text, size_t most = 56);
// Inside a double-quoted string of the dot language; line ends are centred.
std::string DotText(std::string_view text);
std::string XmlText(std::string_view text);
// The value of a graph's `label` in the dot language: a title, and a legend of smaller lines below.
std::string DotHeading(std::string_view title, const std::vector<std::string>& legend);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_DRAW_FORMATS_TEXT_H_
