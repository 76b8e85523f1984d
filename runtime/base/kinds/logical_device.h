// A device as a program names it: `cpu[0]`, `gpu[1]`, `node[1].gpu[0]`, or the caller: the program
// that executes graphs, whose memory is that of the host, whichever cpu is next to it.
#ifndef CGRAPH_RUNTIME_BASE_KINDS_LOGICAL_DEVICE_H_
#define CGRAPH_RUNTIME_BASE_KINDS_LOGICAL_DEVICE_H_

#include <compare>
#include <cstdint>
#include <string>

namespace cgraph {

enum class DeviceKind : uint8_t { kCaller, kCpu, kGpu };
inline constexpr const char* kDeviceKindNames[] = {"caller", "cpu", "gpu"};

struct LogicalDevice {
  DeviceKind kind = DeviceKind::kCaller;
  uint32_t node = 0, index = 0;  // 0 of the caller
  auto operator<=>(const LogicalDevice&) const = default;
};

inline std::string DeviceName(const LogicalDevice& device) {
  std::string name = kDeviceKindNames[static_cast<size_t>(device.kind)];
  if (device.kind == DeviceKind::kCaller) return name;
  name += "[" + std::to_string(device.index) + "]";
  return device.node == 0 ? name : "node[" + std::to_string(device.node) + "]." + name;
}

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_BASE_KINDS_LOGICAL_DEVICE_H_
