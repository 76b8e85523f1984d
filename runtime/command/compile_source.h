// Running a .cgraph: the cgc beside cgrun compiles it, since the runtime holds no compiler.
#ifndef CGRAPH_RUNTIME_COMMAND_COMPILE_SOURCE_H_
#define CGRAPH_RUNTIME_COMMAND_COMPILE_SOURCE_H_

#include <memory>

#include "runtime/command/options.h"
#include "runtime/command/signals.h"
#include "runtime/plan/loaded_plan.h"

namespace cgraph::command {

// The plan of options.file, compiled where it is a source. Without one, what went wrong has been
// printed and `exit_code` says which kind it was; cgc's own exit code is passed on.
plan::LoadedPlan LoadPlan(const Options& options, Signals& signals);

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_COMPILE_SOURCE_H_
