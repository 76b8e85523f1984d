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
#include "runtime/status/text.h"
#include "runtime/workers/placement.h"

namespace cgraph::workers {

using namespace plan;

namespace {

constexpr uint32_t kMaxNumber = 65535;  // of a core or a GPU

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

// Physical: a core or a GPU of this machine.
struct Physical {
  bool gpu = false;
  uint32_t number = 0;
  auto operator<=>(const Physical&) const = default;
};

// Reads `cuda:3`; nothing where the text is of another form.
std::optional<Physical> ParsePhysical(std::string_view text) {
  constexpr std::string_view kCpu = "cpu:", kCuda = "cuda:";
  Physical physical{.gpu = text.starts_with(kCuda)};
  if (!physical.gpu && !text.starts_with(kCpu)) return std::nullopt;
  const std::string_view digits = text.substr(physical.gpu ? kCuda.size() : kCpu.size());
  const char* end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, physical.number);
  if (digits.empty() || error != std::errc() || rest != end || physical.number > kMaxNumber) {
    return std::nullopt;
  }
  return physical;
}

// Returns "cuda:0 to cuda:3", or "cuda:0".
std::string Numbers(std::string_view kind, uint32_t count) {
  return count == 1 ? fmt::format("{}:0", kind) : fmt::format("{0}:0 to {0}:{1}", kind, count - 1);
}

// Checks that this machine has what the map names.
Status CheckHere(std::string_view entry, Physical physical, const Machine& machine) {
  if (machine.cores == 0) return Status::Ok();
  if (!physical.gpu) {
    if (physical.number < machine.cores) return Status::Ok();
    return Wrong(entry, fmt::format("this machine has {}, {}", Counted(machine.cores, "core"),
                                    Numbers("cpu", machine.cores)));
  }
  if (machine.gpus == 0) return Wrong(entry, machine.no_gpus);
  if (physical.number < machine.gpus) return Status::Ok();
  return Wrong(entry, fmt::format("this machine has {}, {}", Counted(machine.gpus, "GPU"),
                                  Numbers("cuda", machine.gpus)));
}

using Devices = std::map<uint32_t, Physical>;  // by the plan's device

// Adds one LOGICAL=PHYSICAL.
Status ReadEntry(const Plan& plan, std::string_view entry, const Machine& machine,
                 Devices& devices) {
  const size_t equals = entry.find('=');
  if (equals == 0 || equals == std::string_view::npos) {
    return Wrong(entry, "a map is LOGICAL=PHYSICAL, such as gpu[0]=cpu:1, with commas between");
  }
  const std::string_view name = entry.substr(0, equals);
  const std::optional<uint32_t> device = FindDevice(plan, name);
  if (!device) {
    return Wrong(entry,
                 fmt::format("the plan has no device `{}`; it has {}", name, DeviceNames(plan)));
  }
  const std::optional<Physical> physical = ParsePhysical(entry.substr(equals + 1));
  if (!physical) {
    return Wrong(entry, fmt::format("`{}` is no physical device; cpu:0 is the first core, cuda:0 "
                                    "the first GPU",
                                    entry.substr(equals + 1)));
  }
  if (physical->gpu && plan.devices[*device]->kind != DeviceKind::gpu) {
    return Wrong(entry, fmt::format("{} is no gpu, and runs on a core, such as cpu:0", name));
  }
  CGRAPH_RETURN_IF_ERROR(CheckHere(entry, *physical, machine));
  if (!devices.emplace(*device, *physical).second) return Wrong(entry, "it is there twice");
  return Status::Ok();
}

// Gives each gpu that has no device yet the GPU of its place among those that work.
Status GiveGpus(const Plan& plan, const std::string& map, const Machine& machine,
                Devices& devices) {
  const std::vector<uint32_t> gpus = BusyGpus(plan);
  std::string without;
  std::string full_map = map;
  for (uint32_t i = 0; i < gpus.size(); ++i) {
    const bool placed = devices.emplace(gpus[i], Physical{.gpu = true, .number = i}).second;
    if (!placed || i < machine.gpus) continue;
    const std::string name = DeviceName(plan, gpus[i]);
    without += fmt::format("{}{}", without.empty() ? "" : ", ", name);
    full_map += fmt::format("{}{}=cuda:{}", full_map.empty() ? "" : ",", name, i % machine.gpus);
  }
  if (without.empty()) return Status::Ok();
  return {StatusCode::kInvalid,
          fmt::format("the plan has {}, and this machine has {}: no GPU is left for {}; a GPU may "
                      "serve several, as with --device-map {}",
                      Counted(gpus.size(), "gpu"), machine.gpus, without, full_map)};
}

// Gives each device that has none yet the core of its place among the plan's devices.
void GiveCores(const Plan& plan, uint32_t cores, Devices& devices) {
  uint32_t next = 0;
  for (uint32_t device = 0; device < plan.devices.size(); ++device) {
    if (plan.devices[device]->kind == DeviceKind::caller) continue;
    devices.emplace(device, Physical{.number = cores == 0 ? next : next % cores});
    ++next;
  }
}

void SetWorkers(Plan& plan, const Devices& devices) {
  std::set<Physical> used;
  for (const auto& [device, physical] : devices) used.insert(physical);
  for (LaneInfo& lane : plan.lanes) {
    const auto found = devices.find(lane.device());
    const auto worker =
        found == devices.end() ? 0 : std::distance(used.begin(), used.find(found->second));
    lane.mutate_worker(static_cast<uint32_t>(worker));
  }
  plan.workers = std::max<uint32_t>(1, static_cast<uint32_t>(used.size()));
}

}  // namespace

Result<MappedGpus> MapDevices(Plan& plan, const std::string& map, const Machine& machine) {
  Devices devices;
  if (!map.empty()) {
    for (std::string_view entry : Split(map)) {
      CGRAPH_RETURN_IF_ERROR(ReadEntry(plan, entry, machine, devices));
    }
  }
  const Devices named = devices;
  if (machine.gpus > 0) CGRAPH_RETURN_IF_ERROR(GiveGpus(plan, map, machine, devices));
  GiveCores(plan, machine.cores, devices);
  if (!map.empty()) SetWorkers(plan, devices);
  MappedGpus mapped;
  for (uint32_t gpu : BusyGpus(plan)) {
    if (devices.at(gpu).gpu) mapped.on_gpus.emplace(gpu, devices.at(gpu).number);
    else if (named.contains(gpu)) mapped.on_cores.push_back(gpu);
    else mapped.left_to_cores.push_back(gpu);
  }
  return mapped;
}

std::vector<uint32_t> BusyGpus(const Plan& plan) {
  std::vector<uint32_t> gpus = BusyDevices(plan);
  std::erase_if(gpus, [&](uint32_t d) { return plan.devices[d]->kind != DeviceKind::gpu; });
  return gpus;
}

}  // namespace cgraph::workers
