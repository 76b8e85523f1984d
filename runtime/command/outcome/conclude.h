// What is said, printed and written once the executions are over.
#ifndef CGRAPH_RUNTIME_COMMAND_OUTCOME_CONCLUDE_H_
#define CGRAPH_RUNTIME_COMMAND_OUTCOME_CONCLUDE_H_

#include <cstdint>

#include "runtime/command/options.h"
#include "runtime/command/outcome/outcome.h"
#include "runtime/engine/engine.h"
#include "runtime/status/exit_code.h"
#include "runtime/status/status.h"

namespace cgraph::command {

// What went wrong, the outputs, the summary. The code is that of the command.
ExitCode Conclude(const Options& options, const Outcome& outcome, bool interrupted);

// What -v says of the engine.
void SayStats(const Engine& engine, const Options& options);

// The files about the run that were asked for: mean times of calls, as `cgc --profile` reads them,
// and a trace. `graph` is an index into the plan's.
Status WriteMeasurements(const Engine& engine, uint32_t graph, const Options& options);

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_OUTCOME_CONCLUDE_H_
