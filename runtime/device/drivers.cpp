#include "runtime/device/drivers.h"

#include <fmt/format.h>

#include <ranges>

namespace cgraph::device {
namespace {

using DriverList = std::vector<std::unique_ptr<Driver>>;

Result<std::unique_ptr<Device>> Open(const DriverList& drivers, const plan::Plan& plan,
                                     uint32_t device) {
  std::string reasons;
  for (const auto& driver : drivers) {
    Status serves = driver->Serves(plan, device);
    if (serves.ok()) return driver->Open(plan, device);
    reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", serves.message());
  }
  return Status(StatusCode::kUnsupported, std::move(reasons));
}

}  // namespace

DriverRegistry& DriverRegistry::Get() {
  static DriverRegistry registry = [] {
    DriverRegistry made;
    made.Add(MakeCpuDriver);
    return made;
  }();
  return registry;
}

Result<std::vector<std::unique_ptr<Device>>> DriverRegistry::OpenAll(const plan::Plan& plan) const {
  DriverList drivers;
  for (const Maker& maker : std::views::reverse(makers_)) drivers.push_back(maker());
  std::vector<std::unique_ptr<Device>> devices;
  for (uint32_t d = 0; d < plan.devices.size(); ++d) {
    auto device = Open(drivers, plan, d);
    if (!device.ok()) return device.status();
    devices.push_back(std::move(*device));
  }
  return devices;
}

}  // namespace cgraph::device
