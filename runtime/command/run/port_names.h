// PortNames: what a message says where a name is none of the inputs, or of the outputs, of the
// graphs that are called.
#ifndef CGRAPH_RUNTIME_COMMAND_RUN_PORT_NAMES_H_
#define CGRAPH_RUNTIME_COMMAND_RUN_PORT_NAMES_H_

#include <memory>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace cgraph::command {

using Ports = std::vector<std::unique_ptr<plan::Port>> plan::Graph::*;

// Returns what name may be meant, if one is near, and which there are, each with its graph:
// "; did you mean `by`?; they have step.by, step.x". `ports`: the inputs or the outputs.
std::string PortNames(const std::vector<const plan::Graph*>& graphs, Ports ports,
                      const std::string& name);

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_RUN_PORT_NAMES_H_
