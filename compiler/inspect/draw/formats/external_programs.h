// The programs of others that lay out and render what is drawn.
#ifndef CGRAPH_COMPILER_INSPECT_DRAW_FORMATS_EXTERNAL_PROGRAMS_H_
#define CGRAPH_COMPILER_INSPECT_DRAW_FORMATS_EXTERNAL_PROGRAMS_H_

#include <string>

#include "runtime/base/status.h"

namespace cgraph {

// Through Graphviz's `dot`: an SVG. kInvalid when it takes too long.
Result<std::string> LayOut(const std::string& dot);
// Through `rsvg-convert`: "png", or "pdf" on one page of A4, across or upright as it fits better.
Result<std::string> Render(const std::string& svg, const std::string& format, bool has_width);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_DRAW_FORMATS_EXTERNAL_PROGRAMS_H_
