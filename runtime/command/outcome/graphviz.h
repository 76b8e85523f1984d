// Graphviz: pictures of graphs by its program `dot`.
#ifndef CGRAPH_RUNTIME_COMMAND_OUTCOME_GRAPHVIZ_H_
#define CGRAPH_RUNTIME_COMMAND_OUTCOME_GRAPHVIZ_H_

#include <string>

#include "runtime/base/status.h"

namespace cgraph::command {

// Returns a graph in the language of `dot` as a picture: "svg", "png" or "pdf". kNotFound where the
// program cannot be started; kFailed where it fails, takes too long, or an interrupt comes first.
Result<std::string> LayOut(const std::string& dot, const std::string& format);

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_OUTCOME_GRAPHVIZ_H_
