#include "runtime/device/backends.h"

#include <fmt/format.h>

#include <ranges>

namespace cgraph::device {
namespace {

using BackendList = std::vector<std::unique_ptr<Backend>>;

Result<std::unique_ptr<Device>> Open(const BackendList& backends, const plan::Plan& plan,
                                     uint32_t device) {
  std::string reasons;
  for (const auto& backend : backends) {
    Status serves = backend->Serves(plan, device);
    if (serves.ok()) return backend->Open(plan, device);
    reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", serves.message());
  }
  return Status(StatusCode::kUnsupported, std::move(reasons));
}

}  // namespace

BackendRegistry& BackendRegistry::Get() {
  static BackendRegistry registry = [] {
    BackendRegistry made;
    made.Add([] { return MakeCpuBackend(); });
    return made;
  }();
  return registry;
}

Result<std::vector<std::unique_ptr<Device>>> BackendRegistry::OpenAll(
    const plan::Plan& plan, std::unique_ptr<Backend> first) const {
  BackendList backends;
  if (first != nullptr) backends.push_back(std::move(first));
  for (const Maker& maker : std::views::reverse(makers_)) backends.push_back(maker());
  std::vector<std::unique_ptr<Device>> devices;
  for (uint32_t d = 0; d < plan.devices.size(); ++d) {
    auto device = Open(backends, plan, d);
    if (!device.ok()) return device.status();
    devices.push_back(std::move(*device));
  }
  return devices;
}

}  // namespace cgraph::device
