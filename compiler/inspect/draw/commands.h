// The programs of others that lay out and render what we draw.
#ifndef CGRAPH_COMPILER_INSPECT_DRAW_COMMANDS_H_
#define CGRAPH_COMPILER_INSPECT_DRAW_COMMANDS_H_

#include <string>

#include "runtime/status/status.h"

namespace cgraph {

// Through Graphviz's `dot`; `format` is one of its own, "svg" or "png".
Result<std::string> LayOut(const std::string& dot, const std::string& format);
// Through `rsvg-convert`.
Result<std::string> SvgToPng(const std::string& svg);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_DRAW_COMMANDS_H_
