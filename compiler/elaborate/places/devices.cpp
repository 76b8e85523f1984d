#include "compiler/elaborate/places/devices.h"

#include <fmt/format.h>

#include "compiler/elaborate/report.h"
#include "compiler/elaborate/work.h"

namespace cgraph::elaborate {

graph::DeviceId InternDevice(Work& work, const graph::Device& device) {
  auto [known, is_new] = work.devices.try_emplace({device.kind, device.node, device.index});
  if (is_new) known->second = work.module.devices.Add(device);
  return known->second;
}

std::optional<graph::DeviceId> DeviceOf(Work& work, const Value& value, Range range) {
  if (const graph::DeviceId* device = value.As<graph::DeviceId>()) return *device;
  if (const graph::InstanceId* instance = value.As<graph::InstanceId>()) {
    return work.module.instances[*instance].device;
  }
  if (!value.poisoned()) {
    Report(work, Code::kE0603, range,
           fmt::format("`on` takes a place or a device, not {}", Describe(work, value)));
  }
  return std::nullopt;
}

}  // namespace cgraph::elaborate
