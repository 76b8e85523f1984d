// --device-map: the physical device of each logical device of a plan.
//
// `gpu[0]=cpu:1,gpu[1]=cpu:1` binds two logical devices to one core: one worker drives the lanes of
// both, one after another. `gpu[0]=cuda:0` binds a logical gpu to a GPU, and what is bound to one
// GPU has one worker, too. `gpu[*]=cuda:0` binds all of the first node that no other entry names,
// `node[1].gpu[*]=cuda:0` those of another, `node[*].gpu[*]=cuda:0` those of all nodes. Nothing
// else about a plan changes, and no proof: a worker may drive any set of lanes.
//
// Devices that the map leaves out: gpus with something to do get a GPU each, in order, on a machine
// that has GPUs; all others get a core each, in order, while there are enough.
#ifndef CGRAPH_RUNTIME_PLAN_DEVICE_MAP_H_
#define CGRAPH_RUNTIME_PLAN_DEVICE_MAP_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/plan/plan.h"

namespace cgraph::plan {

struct Machine {
  uint32_t cores = 0;   // 0: the plan is made for another machine, which may have any devices
  uint32_t gpus = 0;    // that can run plans
  std::string no_gpus;  // why there are none; where there are any, empty
  std::string name = "this machine";
};

// MappedGpus: where the logical gpus of a plan run, by the numbers of the plan's devices.
struct MappedGpus {
  std::map<uint32_t, uint32_t> on_gpus;  // the GPU of each
  std::vector<uint32_t> on_cores;        // by the map's own words
  std::vector<uint32_t> left_to_cores;   // for want of GPUs
};

// `machines`: those of the plan's nodes, by node, or one that all nodes are on. Sets the workers of
// the plan and of its lanes, unless the map is empty or there are several machines: then the plan
// keeps its own. kInvalid says what is wrong with the map, kNotFound that a machine lacks a core or
// a GPU of it, or has fewer GPUs than the plan needs.
Result<MappedGpus> MapDevices(plan::Plan& plan, const std::string& map,
                              std::span<const Machine> machines);

// WithoutGpus: gpus that run on CPU threads for one reason.
struct WithoutGpus {
  std::vector<uint32_t> gpus;
  std::string why;
};
// Sorts gpus that are left to cores by the reasons that their machines have.
std::vector<WithoutGpus> ByReason(const plan::Plan& plan, const std::vector<uint32_t>& gpus,
                                  std::span<const Machine> machines);
// Returns the machine of a device.
const Machine& MachineOf(const plan::Plan& plan, uint32_t device,
                         std::span<const Machine> machines);
// Returns "gpu[0], gpu[1]"; of many, the first few and how many more.
std::string NamesOf(const plan::Plan& plan, const std::vector<uint32_t>& devices);

// Returns the devices of the plan that are gpus and have anything to do.
std::vector<uint32_t> BusyGpus(const plan::Plan& plan);

}  // namespace cgraph::plan

#endif  // CGRAPH_RUNTIME_PLAN_DEVICE_MAP_H_
