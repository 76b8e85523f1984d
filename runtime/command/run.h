// Executes a graph as often as asked, keeps `inflight` executions going, and measures.
#ifndef CGRAPH_RUNTIME_COMMAND_RUN_H_
#define CGRAPH_RUNTIME_COMMAND_RUN_H_

#include <cstdint>

#include "runtime/command/inputs/inputs.h"
#include "runtime/command/options.h"
#include "runtime/command/outcome/outcome.h"
#include "runtime/engine/engine.h"

namespace cgraph::command {

// `graph` is an index into the plan's.
void Run(Engine& engine, uint32_t graph, Inputs& inputs, const Options& options, Outcome& outcome);

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_RUN_H_
