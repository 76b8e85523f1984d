// What drawings are written in, besides svg.h: texts made harmless, what other programs lay out and
// render, the viewer.
#ifndef CGRAPH_COMPILER_INSPECT_DRAW_FORMATS_FORMATS_H_
#define CGRAPH_COMPILER_INSPECT_DRAW_FORMATS_FORMATS_H_

#include <string>
#include <string_view>
#include <vector>

#include "runtime/status/status.h"

namespace cgraph {

// ---- texts
//
// Names come from users and from plan files that anybody may have written, so
// whatever ends up in a picture is made harmless here: control characters and what is no UTF-8
// become `?`, and the format's own marks are escaped.

// Each line with at most so many characters, the last of which stands for the rest.
std::string Shortened(std::string_view text, size_t most = 56);
std::string Printable(std::string_view text);  // keeps line ends
// Inside a double-quoted string of the dot language; line ends are centred.
std::string DotText(std::string_view text);
std::string XmlText(std::string_view text);

// ---- the programs of others that lay out and render what we draw

// Through Graphviz's `dot`: an SVG. kInvalid when it takes too long.
Result<std::string> LayOut(const std::string& dot);
// Through `rsvg-convert`: "png", or "pdf" on one page of A4, across or upright as it fits better.
Result<std::string> Render(const std::string& svg, const std::string& format, bool has_width);

// The viewer: drawings in one HTML file that needs nothing else, with zoom, search, and what is
// told about the thing that is pointed at.
struct ViewerPage {
  std::string name;
  std::string svg;      // empty: it could not be drawn
  std::string problem;  // why
};
std::string ViewerHtml(const std::string& graph, const std::string& first,
                       const std::vector<ViewerPage>& pages);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_DRAW_FORMATS_FORMATS_H_
