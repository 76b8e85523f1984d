// The viewer: drawings in one HTML file that needs nothing else, with zoom, search, and what is
// told about the thing that is pointed at.
#ifndef CGRAPH_COMPILER_INSPECT_DRAW_FORMATS_VIEWER_H_
#define CGRAPH_COMPILER_INSPECT_DRAW_FORMATS_VIEWER_H_

#include <string>
#include <vector>

namespace cgraph {

struct ViewerPage {
  std::string name;
  std::string svg;      // empty: it could not be drawn
  std::string problem;  // why
};
std::string ViewerHtml(const std::string& graph, const std::string& first,
                       const std::vector<ViewerPage>& pages);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_DRAW_FORMATS_VIEWER_H_
