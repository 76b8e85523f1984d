// The commands of bench/schedule, one function and one file each. A function adds its command to
// the command line; when the command is given, it runs while the line is parsed, and sets the exit
// code.
#ifndef CGRAPH_BENCH_SCHEDULE_HARNESS_COMMANDS_H_
#define CGRAPH_BENCH_SCHEDULE_HARNESS_COMMANDS_H_

#include <CLI/CLI.hpp>

#include "runtime/base/exit_code.h"
#include "runtime/base/status.h"

namespace cgraph::bench {

// FILE.csv... -> instance,height,capacity,seconds
void AddBuffersCommand(CLI::App& app, ExitCode& exit_code);
// FILE.csv -> model,p,m,schedule,rate,makespan,lower_bound,peak_activations,seconds
void AddZeroBubbleCommand(CLI::App& app, ExitCode& exit_code);
// -> makespan,largest_span,peak_activations,lower_bound
void AddPipelineCommand(CLI::App& app, ExitCode& exit_code);
// FILE.csv... -> instance,ranks,stages,microbatches,steps,given
void AddStepsCommand(CLI::App& app, ExitCode& exit_code);
// -> ops,seconds,peak_mib,prove_seconds
void AddScaleCommand(CLI::App& app, ExitCode& exit_code);

// Prints the error on standard error, and returns its exit code.
ExitCode Fail(const Status& status);

}  // namespace cgraph::bench

#endif  // CGRAPH_BENCH_SCHEDULE_HARNESS_COMMANDS_H_
