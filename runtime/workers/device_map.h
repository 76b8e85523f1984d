// --device-map: the physical device of each logical device of a plan.
//
// `gpu[0]=cpu:1,gpu[1]=cpu:1` binds two logical devices to one core: one worker drives the lanes of
// both, one after another. Nothing else about a plan changes, and no proof: a worker may drive any
// set of lanes. Devices that the map leaves out get a core of their own, in order, while there are
// enough.
#ifndef CGRAPH_RUNTIME_WORKERS_DEVICE_MAP_H_
#define CGRAPH_RUNTIME_WORKERS_DEVICE_MAP_H_

#include <cstdint>
#include <string>

#include "runtime/plan/plan.h"
#include "runtime/status/status.h"

namespace cgraph::workers {

// Sets the workers of the plan and of its lanes. `cores` is how many this machine has; 0 where the
// plan is made for another machine. kInvalid says what is wrong with the map.
Status MapDevices(plan::Plan& plan, const std::string& map, uint32_t cores);

}  // namespace cgraph::workers

#endif  // CGRAPH_RUNTIME_WORKERS_DEVICE_MAP_H_
