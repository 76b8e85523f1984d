#include "runtime/command/run/port_names.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/base/text.h"

namespace cgraph::command {

std::string PortNames(const std::vector<const plan::Graph*>& graphs, Ports ports,
                      const std::string& name) {
  std::vector<std::string> names, qualified;
  for (const plan::Graph* graph : graphs) {
    for (const auto& port : graph->*ports) {
      const std::string whole = graph->name + "." + port->name;
      names.push_back(port->name);
      if (std::count(qualified.begin(), qualified.end(), whole) == 0) qualified.push_back(whole);
    }
  }
  names.insert(names.end(), qualified.begin(), qualified.end());
  return fmt::format("{}; they have {}", DidYouMeanHint(name, names),
                     qualified.empty() ? "none" : fmt::format("{}", fmt::join(qualified, ", ")));
}

}  // namespace cgraph::command
