// A device as a program names it: `cpu[0]`, `gpu[1]`, `node[1].gpu[0]`, or the caller: the program
// that executes graphs, whose memory is that of the host, whichever cpu is next to it.
#ifndef CGRAPH_RUNTIME_BASE_KINDS_LOGICAL_DEVICE_H_
#define CGRAPH_RUNTIME_BASE_KINDS_LOGICAL_DEVICE_H_

#include <compare>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace cgraph {

enum class DeviceKind : uint8_t {
#define DEVICE_KIND(id, name) id,
#include "runtime/base/kinds/devices.def"
};

// By DeviceKind.
inline constexpr const char* kDeviceKindNames[] = {
#define DEVICE_KIND(id, name) #name,
#include "runtime/base/kinds/devices.def"
};

// Returns the kind of a program's devices that is written so; nothing where there is none.
inline std::optional<DeviceKind> DeviceKindOf(std::string_view name) {
  for (size_t kind = 1; kind < std::size(kDeviceKindNames); ++kind) {
    if (name == kDeviceKindNames[kind]) return static_cast<DeviceKind>(kind);
  }
  return std::nullopt;
}

// Returns how devices are written, for messages: "cpu[i] or gpu[i]", with `last` for the "or", and
// `before` in front of each.
inline std::string DevicesText(const std::string& last, const std::string& before = "") {
  std::string text;
  for (size_t kind = 1; kind < std::size(kDeviceKindNames); ++kind) {
    const bool is_last = kind + 1 == std::size(kDeviceKindNames);
    if (kind > 1) text += is_last ? " " + last + " " : ", ";
    text += before + kDeviceKindNames[kind] + "[i]";
  }
  return text;
}

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
