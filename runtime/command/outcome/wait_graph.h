// --wait-graph: the drawing of who waits for whom.
#ifndef CGRAPH_RUNTIME_COMMAND_OUTCOME_WAIT_GRAPH_H_
#define CGRAPH_RUNTIME_COMMAND_OUTCOME_WAIT_GRAPH_H_

#include <string>

#include "runtime/command/options.h"
#include "runtime/engine/engine.h"

namespace cgraph::command {

// Returns "svg" of "FILE.svg"; empty where no picture ends like that.
std::string WaitGraphFormat(const std::string& path);

// Writes the drawing, if one was asked for; returns the note, with its end of line, that it is
// written, or why it is not. Any format but that of dot is laid out by the program `dot`. `engine`:
// null where the plan is not loaded yet.
std::string WriteWaitGraph(const Options& options, const Engine* engine);

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_OUTCOME_WAIT_GRAPH_H_
