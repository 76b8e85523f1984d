#include "runtime/workers/device_map.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/plan/print.h"

namespace cgraph::workers {

using namespace plan;

namespace {

constexpr uint32_t kMaxCore = 65535;

Status Wrong(std::string_view entry, const std::string& why) {
  return {StatusCode::kInvalid, fmt::format("--device-map {}: {}", entry, why)};
}

std::vector<std::string_view> Split(std::string_view text) {
  std::vector<std::string_view> entries;
  for (;;) {
    const size_t comma = text.find(',');
    entries.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return entries;
    text.remove_prefix(comma + 1);
  }
}

// Returns the device of that name; the caller has none.
std::optional<uint32_t> FindDevice(const Plan& plan, std::string_view name) {
  for (uint32_t i = 0; i < plan.devices.size(); ++i) {
    if (plan.devices[i]->kind != DeviceKind::caller && DeviceName(plan, i) == name) return i;
  }
  return std::nullopt;
}

// Returns "gpu[0], gpu[1]".
std::string DeviceNames(const Plan& plan) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < plan.devices.size(); ++i) {
    if (plan.devices[i]->kind != DeviceKind::caller) names.push_back(DeviceName(plan, i));
  }
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

Result<uint32_t> ParseCore(std::string_view entry, std::string_view physical, uint32_t cores) {
  constexpr std::string_view kCpu = "cpu:", kCuda = "cuda:";
  if (physical.starts_with(kCuda)) {
    return Wrong(entry, "there are no CUDA devices for plans yet; cpu:0 is the first core");
  }
  uint32_t core = 0;
  const std::string_view digits =
      physical.starts_with(kCpu) ? physical.substr(kCpu.size()) : std::string_view();
  const char* end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, core);
  if (digits.empty() || error != std::errc() || rest != end || core > kMaxCore) {
    return Wrong(entry,
                 fmt::format("`{}` is no physical device; cpu:0 is the first core", physical));
  }
  if (cores == 0 || core < cores) return core;
  return Wrong(entry, fmt::format("this machine has {} cores, cpu:0 to cpu:{}", cores, cores - 1));
}

// Returns the core of each device: as the map says, and one each, in order, for the others.
Result<std::map<uint32_t, uint32_t>> ReadMap(const Plan& plan, const std::string& map,
                                             uint32_t cores) {
  std::map<uint32_t, uint32_t> core_of;
  for (std::string_view entry : Split(map)) {
    const size_t equals = entry.find('=');
    if (equals == 0 || equals == std::string_view::npos) {
      return Wrong(entry, "a map is LOGICAL=PHYSICAL, such as gpu[0]=cpu:1, with commas between");
    }
    const std::optional<uint32_t> device = FindDevice(plan, entry.substr(0, equals));
    if (!device) {
      return Wrong(entry, fmt::format("the plan has no device `{}`; it has {}",
                                      entry.substr(0, equals), DeviceNames(plan)));
    }
    const Result<uint32_t> core = ParseCore(entry, entry.substr(equals + 1), cores);
    if (!core.ok()) return core.status();
    if (!core_of.emplace(*device, *core).second) return Wrong(entry, "it is there twice");
  }
  uint32_t next = 0;
  for (uint32_t device = 0; device < plan.devices.size(); ++device) {
    if (plan.devices[device]->kind == DeviceKind::caller) continue;
    core_of.emplace(device, cores == 0 ? next : next % cores);
    ++next;
  }
  return core_of;
}

}  // namespace

Status MapDevices(Plan& plan, const std::string& map, uint32_t cores) {
  const Result<std::map<uint32_t, uint32_t>> core_of = ReadMap(plan, map, cores);
  if (!core_of.ok()) return core_of.status();
  std::set<uint32_t> used;
  for (const auto& [device, core] : *core_of) used.insert(core);
  for (LaneInfo& lane : plan.lanes) {
    const auto core = core_of->find(lane.device());
    const auto worker =
        core == core_of->end() ? 0 : std::distance(used.begin(), used.find(core->second));
    lane.mutate_worker(static_cast<uint32_t>(worker));
  }
  plan.workers = std::max<uint32_t>(1, static_cast<uint32_t>(used.size()));
  return Status::Ok();
}

}  // namespace cgraph::workers
