// --workers and --cores: who runs the lanes of a simulation.
#ifndef CGRAPH_COMPILER_COMMAND_FLAGS_THREAD_FLAGS_H_
#define CGRAPH_COMPILER_COMMAND_FLAGS_THREAD_FLAGS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "runtime/plan/plan.h"
#include "runtime/status/status.h"

namespace cgraph::command {

struct ThreadFlags {
  uint32_t workers = 0, cores = 0;
};

void AddThreadFlags(CLI::App& command, ThreadFlags& flags);

// Gives the plan from `path` as many workers as are asked for. They follow a certificate, which
// only a proof makes true: kInvalid when the plan is refused.
Status PartitionForWorkers(plan::Plan& plan, const std::string& path, const ThreadFlags& flags);

}  // namespace cgraph::command

#endif  // CGRAPH_COMPILER_COMMAND_FLAGS_THREAD_FLAGS_H_
