// `--topology` for a plan that is there already: there is no program whose names it could mean.
#ifndef CGRAPH_COMPILER_COMMAND_FLAGS_TOPOLOGY_FLAG_H_
#define CGRAPH_COMPILER_COMMAND_FLAGS_TOPOLOGY_FLAG_H_

#include <optional>

#include "compiler/command/flags/compile_flags.h"
#include "compiler/command/flags/output_flags.h"
#include "compiler/cost/topology.h"
#include "runtime/plan/plan.h"

namespace cgraph::command {

// What is wrong has been printed.
ExitCode ReadTopology(const CompileFlags& flags, const OutputFlags& output, const plan::Plan& plan,
                      std::optional<cost::Topology>& topology);

}  // namespace cgraph::command

#endif  // CGRAPH_COMPILER_COMMAND_FLAGS_TOPOLOGY_FLAG_H_
