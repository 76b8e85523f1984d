// Whether each GPU of a plan gets a process of its own without anybody asking.
#ifndef CGRAPH_RUNTIME_COMMAND_GPU_PROCESSES_H_
#define CGRAPH_RUNTIME_COMMAND_GPU_PROCESSES_H_

#include <memory>
#include <string>

#include "runtime/base/status.h"
#include "runtime/command/gpus.h"
#include "runtime/command/options.h"
#include "runtime/engine/engine.h"
#include "runtime/plan/plan.h"

namespace cgraph::command {

struct GpuProcesses {
  bool each = false;    // each GPU, and each other device with work, has a process
  std::string why_not;  // why one process serves several GPUs though no flag says how many
};

// A plan with captures on several GPUs of this machine is run so, unless a flag says otherwise or
// the GPUs cannot. `under_launcher`: there is a process for each node already.
GpuProcesses ChooseGpuProcesses(const plan::Plan& plan, const Options& options,
                                const GpuPlacement& placement, bool under_launcher);

// Loads a plan as `chosen` says, and changes `chosen` where it does otherwise: if processes that
// the user has not asked for cannot load the plan, one process is tried. `options` are those of one
// process.
Result<std::unique_ptr<Engine>> LoadChosen(std::unique_ptr<plan::Plan> plan, EngineOptions options,
                                           GpuProcesses& chosen);

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_GPU_PROCESSES_H_
