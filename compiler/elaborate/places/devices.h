// Devices: each one that is named, once.
#ifndef CGRAPH_COMPILER_ELABORATE_PLACES_DEVICES_H_
#define CGRAPH_COMPILER_ELABORATE_PLACES_DEVICES_H_

#include <optional>

#include "compiler/elaborate/values/value.h"

namespace cgraph::elaborate {

struct ElaborationContext;

graph::DeviceId InternDevice(ElaborationContext& elaboration, const graph::Device& device);

// The device that `on` names by a place or by itself.
std::optional<graph::DeviceId> DeviceOf(ElaborationContext& elaboration, const Value& value,
                                        Range range);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_PLACES_DEVICES_H_
