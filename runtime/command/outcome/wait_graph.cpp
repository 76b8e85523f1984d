#include "runtime/command/outcome/wait_graph.h"

#include <fmt/format.h>

#include "runtime/base/output_files.h"
#include "runtime/command/outcome/graphviz.h"

namespace cgraph::command {

std::string WaitGraphFormat(const std::string& path) {
  for (const char* format : {"dot", "svg", "png", "pdf"}) {
    if (path.ends_with(std::string(".") + format)) return format;
  }
  return "";
}

std::string WriteWaitGraph(const Options& options, const Engine* engine) {
  const std::string& path = options.wait_graph;
  if (path.empty()) return "";
  if (engine == nullptr) {
    return fmt::format("cgrun: note: {} is not written, as states are not initialised yet\n", path);
  }
  const std::string format = WaitGraphFormat(path);
  Result<std::string> picture = engine->WaitReportDot();
  if (format != "dot") picture = LayOut(*picture, format);
  Status written = picture.status();
  if (written.ok()) {
    OutputFiles files;
    written = files.Add(path, *picture);
    if (written.ok()) written = files.Commit();
  }
  if (!written.ok()) {
    return fmt::format("cgrun: note: {} is not written: {}\n", path, written.message());
  }
  return options.quiet ? "" : fmt::format("cgrun: note: {} shows who waits for whom\n", path);
}

}  // namespace cgraph::command
