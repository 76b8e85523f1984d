#include "runtime/device/backends.h"

#include <fmt/format.h>

#include <ranges>
#include <utility>

#include "runtime/base/assert.h"

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

// Returns the first platform that has GPUs for plans, else the last; null: none is registered.
GpuPlatform* PlatformInUse() {
  GpuPlatform* found = nullptr;
  for (GpuPlatform* platform : BackendRegistry::Get().platforms()) {
    found = platform;
    if (platform->Find().usable.ok()) break;
  }
  return found;
}

}  // namespace

// Here each kind of backend is listed that is part of the product.
BackendRegistry& BackendRegistry::Get() {
  static BackendRegistry registry = [] {
    BackendRegistry made;
    made.Add({[](const Assignment& assignment) -> Result<std::unique_ptr<Backend>> {
      return MakeCpuBackend(assignment.among.memory);
    }});
    made.Add(CudaBackends());
    return made;
  }();
  return registry;
}

void BackendRegistry::Add(BackendKind kind) {
  if (kind.gpus != nullptr) platforms_.push_back(kind.gpus);
  CGRAPH_ASSERT(platforms_.size() <= CallersContext::kMostPlatforms);
  kinds_.push_back(std::move(kind));
}

Result<BackendList> BackendRegistry::MakeAll(const Assignment& assignment) const {
  if (!assignment.gpus.empty()) CGRAPH_RETURN_IF_ERROR(FindGpus().usable);
  BackendList backends;
  for (const BackendKind& kind : std::views::reverse(kinds_)) {
    const bool of_gpus = kind.gpus != nullptr;
    if (of_gpus && (assignment.gpus.empty() || kind.gpus != PlatformInUse())) continue;
    auto made = kind.make(assignment);
    if (!made.ok()) return made.status();
    if (*made != nullptr) backends.push_back(std::move(*made));
  }
  return backends;
}

Result<std::vector<std::unique_ptr<Device>>> BackendRegistry::OpenAll(
    const plan::Plan& plan, const Assignment& assignment) const {
  auto backends = MakeAll(assignment);
  if (!backends.ok()) return backends.status();
  std::vector<std::unique_ptr<Device>> devices;
  for (uint32_t d = 0; d < plan.devices.size(); ++d) {
    auto device = Open(*backends, plan, d);
    if (!device.ok()) return device.status();
    devices.push_back(std::move(*device));
  }
  return devices;
}

const GpuReport& FindGpus() {
  static const GpuReport none{
      {StatusCode::kNotFound, "this process serves no GPUs\nregister a backend that does"}, "", {}};
  GpuPlatform* const platform = PlatformInUse();
  return platform != nullptr ? platform->Find() : none;
}

std::vector<GpuLibrary> FindGpuLibraries() {
  GpuPlatform* const platform = PlatformInUse();
  return platform != nullptr ? platform->FindLibraries() : std::vector<GpuLibrary>();
}

std::vector<std::string> TakeGpuWarnings() {
  std::vector<std::string> warnings;
  for (GpuPlatform* platform : BackendRegistry::Get().platforms()) {
    for (std::string& warning : platform->TakeWarnings()) warnings.push_back(std::move(warning));
  }
  return warnings;
}

CallersContext::CallersContext(bool uses_gpus) {
  if (!uses_gpus) return;
  const std::vector<GpuPlatform*>& platforms = BackendRegistry::Get().platforms();
  for (size_t i = 0; i < platforms.size(); ++i) contexts_[i] = platforms[i]->CurrentContext();
}

CallersContext::~CallersContext() {
  for (size_t i = 0; i < kMostPlatforms; ++i) {
    if (contexts_[i]) BackendRegistry::Get().platforms()[i]->SetCurrentContext(*contexts_[i]);
  }
}

}  // namespace cgraph::device
