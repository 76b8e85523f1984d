// --device-map: which physical device each logical device of a plan is.
//
// `gpu[0]=cpu:1,gpu[1]=cpu:1` binds two logical devices to one core: one worker drives the lanes of
// both, one after another. Nothing else about a plan changes, and no proof: a worker may drive any
// set of lanes. Devices that the map leaves out get a core of their own, in order, while there are
// enough.
#ifndef CGRAPH_RUNTIME_PLAN_WORKERS_DEVICE_MAP_H_
#define CGRAPH_RUNTIME_PLAN_WORKERS_DEVICE_MAP_H_

#include <cstdint>
#include <string>

#include "runtime/plan/plan.h"
#include "runtime/status/status.h"

namespace cgraph::plan {

// Sets the workers of the plan and of its lanes. `cores` is how many this machine has; 0 where the
// plan is made for another. kInvalid says what is wrong with the map.
Status MapDevices(Plan& plan, const std::string& map, uint32_t cores);

}  // namespace cgraph::plan

#endif  // CGRAPH_RUNTIME_PLAN_WORKERS_DEVICE_MAP_H_
