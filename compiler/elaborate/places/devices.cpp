#include "compiler/elaborate/places/places.h"

#include <fmt/format.h>

#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/report.h"

namespace cgraph::elaborate {

graph::DeviceId InternDevice(ElaborationContext& elaboration, const LogicalDevice& device) {
  auto [known, is_new] = elaboration.devices.try_emplace(device);
  if (is_new) known->second = elaboration.module.devices.Add(device);
  return known->second;
}

std::optional<graph::DeviceId> DeviceOf(ElaborationContext& elaboration, const Value& value,
                                        Range range) {
  if (const graph::DeviceId* device = value.As<graph::DeviceId>()) return *device;
  if (const graph::InstanceId* instance = value.As<graph::InstanceId>()) {
    return elaboration.module.instances[*instance].device;
  }
  if (!value.poisoned()) {
    Report(elaboration, Code::kE0603, range,
           fmt::format("`on` takes a place or a device, not {}", Describe(elaboration, value)));
  }
  return std::nullopt;
}

}  // namespace cgraph::elaborate
