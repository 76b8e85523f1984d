// Concludes a run: what is printed and written once the executions are over.
#ifndef CGRAPH_RUNTIME_COMMAND_OUTCOME_CONCLUDE_H_
#define CGRAPH_RUNTIME_COMMAND_OUTCOME_CONCLUDE_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/base/exit_code.h"
#include "runtime/base/status.h"
#include "runtime/command/options.h"
#include "runtime/command/outcome/outcome.h"
#include "runtime/engine/engine.h"

namespace cgraph::command {

// The run that is reported, and whose measurements are written: mean times of calls, as `cgc
// --profile` reads them, and a trace.
struct Measured {
  Engine& engine;
  std::vector<uint32_t> graphs;  // those that were executed, as indices into the plan's
};

// Prints errors, outputs and the summary; returns the exit code of the command. Measurements are
// written only with `run`; those of a run that failed or was interrupted say so. `interrupted`:
// asked at first, and before files take their names.
ExitCode Conclude(const Options& options, const Outcome& outcome,
                  const std::function<bool()>& interrupted, const Measured* run);

// Says that measurements were asked for and are not written, since nothing ran. Says nothing where
// the command line is refused (`code` is kUsage): nothing of it was to be written.
void SayUnwritten(const Options& options, ExitCode code);
// Says the same of results, too, of a run that fails while the plan is loaded or states are set.
void SayNothingRan(const Options& options, ExitCode code);

// Prints what -v says of the engine. `one_process`: why one serves several GPUs, where it does.
void SayStats(const Engine& engine, const Options& options, const std::string& one_process);

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_OUTCOME_CONCLUDE_H_
