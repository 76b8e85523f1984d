// The GPUs of this machine: which of them serve a plan, what is said where none do, and the list
// that `cgrun --devices` prints.
#ifndef CGRAPH_RUNTIME_COMMAND_GPUS_H_
#define CGRAPH_RUNTIME_COMMAND_GPUS_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runtime/command/messages.h"
#include "runtime/command/options.h"
#include "runtime/device/cuda_library/interface.h"
#include "runtime/plan/plan.h"

namespace cgraph::command {

struct GpuPlacement {
  device::GpuMap gpus;
  std::string note;  // for standard error, where gpus run on CPU threads though nobody asked for it
};

// Maps the plan's devices by --device-map, and checks --require-gpu. The driver is asked for GPUs
// only where the plan has gpus.
Problem PlaceGpus(plan::Plan& plan, const Options& options, bool several_machines,
                  GpuPlacement& placement);

// Returns what this machine has: lines for people.
std::string ListDevices();
// The same for programs, as one JSON object.
nlohmann::ordered_json DevicesJson();

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_GPUS_H_
