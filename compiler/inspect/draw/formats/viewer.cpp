#include "compiler/inspect/draw/formats/viewer.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/inspect/draw/formats/text.h"

namespace cgraph {
namespace {

// `<!--pages-->` and `<!--name-->` are where the drawings and the graph's name go.
constexpr const char kTemplate[] = {
#include "viewer.inc"
};

void Replace(std::string& text, const std::string& mark, const std::string& by) {
  for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + by.size())) {
    text.replace(at, mark.size(), by);
  }
}

}  // namespace

std::string ViewerHtml(const std::string& graph, const std::string& first,
                       const std::vector<ViewerPage>& pages) {
  std::string sections;
  for (const ViewerPage& page : pages) {
    // The XML head is left out, since it has no place inside HTML.
    const size_t svg = std::min(page.svg.find("<svg"), page.svg.size());
    sections += fmt::format("<section id=\"{0}\" data-name=\"{0}\"{1}>{2}{3}</section>\n",
                            page.name, page.name == first ? "" : " hidden", page.svg.substr(svg),
                            page.problem.empty() ? "" : "<pre>" + XmlText(page.problem) + "</pre>");
  }
  std::string html = kTemplate;
  Replace(html, "<!--name-->", XmlText(graph));
  Replace(html, "<!--pages-->", sections);
  return html;
}

}  // namespace cgraph
