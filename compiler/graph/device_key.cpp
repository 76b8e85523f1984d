#include "compiler/graph/device_key.h"

namespace cgraph::graph {

cost::DeviceKey DeviceKeyOf(const Device& device) {
  switch (device.kind) {
    case DeviceKind::kCaller: return {};
    case DeviceKind::kCpu: return {cost::DeviceKey::kCpu, device.node, device.index};
    case DeviceKind::kGpu: return {cost::DeviceKey::kGpu, device.node, device.index};
  }
  return {};
}

}  // namespace cgraph::graph
