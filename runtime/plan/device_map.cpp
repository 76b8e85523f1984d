#include "runtime/plan/device_map.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/base/text.h"
#include "runtime/plan/placement.h"
#include "runtime/plan/print.h"

namespace cgraph::plan {

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

constexpr std::string_view kAll = "[*]";  // behind a kind: all devices of it
constexpr std::string_view kAllNodes = "node[*].", kFirstNode = "node[0].";

// Returns how many of the two, the node and the device, a name leaves open.
int OpenParts(std::string_view name) { return name.starts_with(kAllNodes) + name.ends_with(kAll); }

// Returns the devices of that name, or all that fit what it leaves open; the caller has none.
std::vector<uint32_t> FindDevices(const Plan& plan, std::string_view name) {
  const bool all = name.ends_with(kAll), of_all_nodes = name.starts_with(kAllNodes);
  if (all) name.remove_suffix(kAll.size() - 1);  // up to the bracket
  if (of_all_nodes || name.starts_with(kFirstNode)) name.remove_prefix(kAllNodes.size());
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < plan.devices.size(); ++i) {
    if (plan.devices[i]->kind == DeviceKind::caller) continue;
    const std::string whole = DeviceName(plan, i);
    std::string_view device = whole;
    if (of_all_nodes && plan.devices[i]->node != 0) device.remove_prefix(device.find('.') + 1);
    if (all ? device.starts_with(name) : device == name) found.push_back(i);
  }
  return found;
}

std::vector<std::string> DeviceNames(const Plan& plan) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < plan.devices.size(); ++i) {
    if (plan.devices[i]->kind != DeviceKind::caller) names.push_back(DeviceName(plan, i));
  }
  return names;
}

// Physical: a core or a GPU of a machine.
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

// Returns " (did you mean `cuda:0`?)" for `cuda0`, `gpu:0` and the like; else nothing.
std::string PhysicalHint(std::string_view text) {
  const size_t first = text.find_first_of("0123456789");
  const size_t end = text.find_first_not_of("0123456789", first);
  const std::string number(
      first == std::string_view::npos ? "0" : text.substr(first, end - first));
  std::string kind;
  for (const char c : text.substr(0, text.find_first_of(":[0123456789"))) {
    kind += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (kind == "gpu") kind = "cuda";  // a logical device's word
  const std::string meant = kind + ":" + number;
  const std::vector<std::string> candidates = {"cuda:" + number, "cpu:" + number};
  if (kind == "cuda" || kind == "cpu") {
    return meant == text ? "" : fmt::format(" (did you mean `{}`?)", meant);  // else out of range
  }
  return DidYouMeanHint(meant, candidates);
}

// Returns "cuda:0 to cuda:3", or "cuda:0".
std::string Numbers(std::string_view kind, uint32_t count) {
  return count == 1 ? fmt::format("{}:0", kind) : fmt::format("{0}:0 to {0}:{1}", kind, count - 1);
}

Status Absent(std::string_view entry, const std::string& why) {
  return {StatusCode::kNotFound, fmt::format("--device-map {}: {}", entry, why)};
}

// Checks that a machine has what the map names.
Status CheckHere(std::string_view entry, Physical physical, const Machine& machine) {
  if (machine.cores == 0) return Status::Ok();
  if (!physical.gpu) {
    if (physical.number < machine.cores) return Status::Ok();
    return Absent(entry, fmt::format("{} has {}, {}", machine.name, Counted(machine.cores, "core"),
                                     Numbers("cpu", machine.cores)));
  }
  if (machine.gpus == 0) {
    return Absent(entry, machine.name == Machine().name
                             ? machine.no_gpus
                             : fmt::format("{}: {}", machine.name, machine.no_gpus));
  }
  if (physical.number < machine.gpus) return Status::Ok();
  return Absent(entry, fmt::format("{} has {}, {}", machine.name, Counted(machine.gpus, "GPU"),
                                   Numbers("cuda", machine.gpus)));
}

using Devices = std::map<uint32_t, Physical>;  // by the plan's device

// Entry: one LOGICAL=PHYSICAL, for one device or for several.
struct Entry {
  std::string_view text;
  std::vector<uint32_t> devices;
  Physical physical;
  int open_parts = 0;
};

Result<Entry> ReadEntry(const Plan& plan, std::string_view entry,
                        std::span<const Machine> machines) {
  const size_t equals = entry.find('=');
  if (equals == 0 || equals == std::string_view::npos) {
    return Wrong(entry, "a map is LOGICAL=PHYSICAL, such as gpu[0]=cpu:1, with commas between");
  }
  const std::string_view name = entry.substr(0, equals);
  std::vector<uint32_t> devices = FindDevices(plan, name);
  if (devices.empty()) {
    const std::vector<std::string> names = DeviceNames(plan);
    return Wrong(entry, fmt::format("the plan has no device `{}`{}; it has {}", name,
                                    DidYouMeanHint(name, names),
                                    names.empty() ? "none"
                                                  : fmt::format("{}", fmt::join(names, ", "))));
  }
  const std::optional<Physical> physical = ParsePhysical(entry.substr(equals + 1));
  if (!physical) {
    const std::string_view given = entry.substr(equals + 1);
    return Wrong(entry, fmt::format("`{}` is no physical device{}; cpu:0 is the first core, cuda:0 "
                                    "the first GPU",
                                    given, PhysicalHint(given)));
  }
  if (physical->gpu && plan.devices[devices.front()]->kind != DeviceKind::gpu) {
    return Wrong(entry, fmt::format("{} is no gpu, and runs on a core, such as cpu:0", name));
  }
  for (const uint32_t device : devices) {
    CGRAPH_RETURN_IF_ERROR(CheckHere(entry, *physical, MachineOf(plan, device, machines)));
  }
  return Entry{entry, std::move(devices), *physical, OpenParts(name)};
}

// Reads the map. What names a device goes before what names all of its kind, or on all nodes, and
// that before what names all of a kind on all nodes.
Status ReadMap(const Plan& plan, const std::string& map, std::span<const Machine> machines,
               Devices& devices) {
  std::vector<Entry> entries;
  for (const std::string_view text : Split(map)) {
    Result<Entry> entry = ReadEntry(plan, text, machines);
    if (!entry.ok()) return entry.status();
    entries.push_back(std::move(*entry));
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.open_parts < b.open_parts; });
  std::map<uint32_t, const Entry*> by;  // which entry has placed a device
  for (const Entry& entry : entries) {
    for (const uint32_t device : entry.devices) {
      const Entry& first = *by.emplace(device, &entry).first->second;
      if (first.open_parts == entry.open_parts && first.physical != entry.physical) {
        return {StatusCode::kInvalid,
                fmt::format("--device-map {} and {} contradict each other: a device is one core or "
                            "GPU; leave one of them out",
                            first.text, entry.text)};
      }
      devices.emplace(device, entry.physical);
    }
  }
  return Status::Ok();
}

// Gives the i-th of the plan's gpus on a machine its GPU i, unless the map has placed it.
Status GiveGpus(const Plan& plan, const std::string& map, const std::vector<uint32_t>& gpus,
                const std::string& where, const Machine& machine, Devices& devices) {
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
  return {StatusCode::kNotFound,
          fmt::format("the plan has {}{}, and {} has {}: no GPU is left for {}; a GPU may serve "
                      "several, as with --device-map {}",
                      Counted(gpus.size(), "gpu"), where, machine.name, machine.gpus, without,
                      full_map)};
}

// Gives the gpus of each machine that has GPUs one each.
Status GiveAllGpus(const Plan& plan, const std::string& map, std::span<const Machine> machines,
                   Devices& devices) {
  std::map<const Machine*, std::vector<uint32_t>> gpus_of;
  for (const uint32_t gpu : BusyGpus(plan)) gpus_of[&MachineOf(plan, gpu, machines)].push_back(gpu);
  for (const auto& [machine, gpus] : gpus_of) {
    if (machine->gpus == 0) continue;
    const std::string where =
        machines.size() == 1 ? ""
                             : fmt::format(" on node[{}]", plan.devices[gpus.front()]->node);
    CGRAPH_RETURN_IF_ERROR(GiveGpus(plan, map, gpus, where, *machine, devices));
  }
  return Status::Ok();
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

Result<MappedGpus> MapDevices(Plan& plan, const std::string& map,
                              std::span<const Machine> machines) {
  Devices devices;
  if (!map.empty()) CGRAPH_RETURN_IF_ERROR(ReadMap(plan, map, machines, devices));
  const Devices named = devices;
  CGRAPH_RETURN_IF_ERROR(GiveAllGpus(plan, map, machines, devices));
  GiveCores(plan, machines.front().cores, devices);
  if (!map.empty() && machines.size() == 1) SetWorkers(plan, devices);
  MappedGpus mapped;
  for (uint32_t gpu : BusyGpus(plan)) {
    if (devices.at(gpu).gpu) mapped.on_gpus.emplace(gpu, devices.at(gpu).number);
    else if (named.contains(gpu)) mapped.on_cores.push_back(gpu);
    else mapped.left_to_cores.push_back(gpu);
  }
  return mapped;
}

const Machine& MachineOf(const Plan& plan, uint32_t device, std::span<const Machine> machines) {
  return machines.size() == 1 ? machines[0] : machines[plan.devices[device]->node];
}

std::string NamesOf(const Plan& plan, const std::vector<uint32_t>& devices) {
  constexpr size_t kMost = 4;
  std::string names;
  for (size_t i = 0; i < devices.size() && i < kMost; ++i) {
    names += fmt::format("{}{}", i == 0 ? "" : ", ", DeviceName(plan, devices[i]));
  }
  if (devices.size() > kMost) names += fmt::format(" and {} more", devices.size() - kMost);
  return names;
}

std::vector<WithoutGpus> ByReason(const Plan& plan, const std::vector<uint32_t>& gpus,
                                  std::span<const Machine> machines) {
  std::vector<WithoutGpus> all;
  for (const uint32_t gpu : gpus) {
    const std::string& why = MachineOf(plan, gpu, machines).no_gpus;
    const auto at = std::find_if(all.begin(), all.end(),
                                 [&](const WithoutGpus& one) { return one.why == why; });
    if (at != all.end()) {
      at->gpus.push_back(gpu);
    } else {
      all.push_back({{gpu}, why});
    }
  }
  return all;
}

std::vector<uint32_t> BusyGpus(const Plan& plan) {
  std::vector<uint32_t> gpus = BusyDevices(plan);
  std::erase_if(gpus, [&](uint32_t d) { return plan.devices[d]->kind != DeviceKind::gpu; });
  return gpus;
}

}  // namespace cgraph::plan
