// The run from end to end: the plan, its inputs, the executions, and what came of them.
#ifndef CGRAPH_RUNTIME_COMMAND_EXECUTE_H_
#define CGRAPH_RUNTIME_COMMAND_EXECUTE_H_

#include "runtime/command/options.h"
#include "runtime/command/signals.h"
#include "runtime/status/exit_code.h"

namespace cgraph::command {

// What went wrong has been printed; the code is that of the command. Does not return where a kernel
// never does: then the process ends here.
ExitCode Execute(const Options& options, Signals& signals);

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_EXECUTE_H_
