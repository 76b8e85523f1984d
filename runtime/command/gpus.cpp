#include "runtime/command/gpus.h"

#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "runtime/device/cuda_library/cuda_library.h"
#include "runtime/device/sync/cores.h"
#include "runtime/plan/print.h"
#include "runtime/status/text.h"
#include "runtime/workers/device_map.h"

namespace cgraph::command {
namespace {

// Of a status of GPUs, the first line is what was seen, the second what to do about it.
std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

workers::Machine MachineFor(const plan::Plan& plan) {
  workers::Machine machine{.cores = device::Cores()};
  if (workers::BusyGpus(plan).empty()) return machine;
  const device::GpuReport& report = device::FindGpus();
  if (report.usable.ok()) machine.gpus = static_cast<uint32_t>(report.gpus.size());
  machine.no_gpus = report.usable.message();
  return machine;
}

// Returns "gpu[0], gpu[1]"; of many, the first few and how many more.
std::string Names(const plan::Plan& plan, const std::vector<uint32_t>& devices) {
  constexpr size_t kMost = 4;
  std::string names;
  for (size_t i = 0; i < devices.size() && i < kMost; ++i) {
    names += fmt::format("{}{}", i == 0 ? "" : ", ", plan::DeviceName(plan, devices[i]));
  }
  if (devices.size() > kMost) names += fmt::format(" and {} more", devices.size() - kMost);
  return names;
}

std::string_view Runs(const std::vector<uint32_t>& devices) {
  return devices.size() == 1 ? "runs on a CPU thread" : "run on CPU threads";
}

// Of a problem that has two lines, the second one stands below the first.
std::string ListLibrary(const device::GpuLibrary& library) {
  std::string problem = library.problem;
  if (const size_t end = problem.find('\n'); end != problem.npos) problem.insert(end + 1, "  ");
  return fmt::format("{}  {}{}\n", library.name,
                     library.version.empty() ? "none: "
                     : problem.empty()       ? library.version
                                             : library.version + ", but ",
                     problem);
}

std::string ListGpu(size_t number, const device::Gpu& gpu) {
  return fmt::format("cuda:{}  {}, {}, compute capability {}.{}, PCI {}\n", number, gpu.name,
                     BytesText(gpu.bytes), gpu.major, gpu.minor, gpu.pci);
}

}  // namespace

Problem PlaceGpus(plan::Plan& plan, const Options& options, bool several_machines,
                  GpuPlacement& placement) {
  if (options.processes != 0 || several_machines) {
    const std::vector<uint32_t> gpus = workers::BusyGpus(plan);
    if (!gpus.empty()) {
      placement.note = fmt::format("{} {}: {} no GPU yet", Names(plan, gpus), Runs(gpus),
                                   several_machines ? "processes of several machines serve"
                                                    : "--processes serves");
    }
    return {};
  }
  const workers::Machine machine = MachineFor(plan);
  auto mapped =
      workers::MapDevices(plan, fmt::format("{}", fmt::join(options.device_map, ",")), machine);
  if (!mapped.ok()) {
    const bool absent = mapped.status().code() == StatusCode::kNotFound;
    return {absent ? kEnvironment : kUsage, mapped.status().message()};
  }
  placement.gpus = std::move(mapped->on_gpus);
  const std::vector<uint32_t>& left = mapped->left_to_cores;
  if (options.require_gpu && !left.empty()) {
    return {kEnvironment, fmt::format("{} would run on CPU threads: {}, or leave out --require-gpu",
                                      Names(plan, left), machine.no_gpus)};
  }
  if (options.require_gpu && !mapped->on_cores.empty()) {
    return {kUsage, fmt::format("--require-gpu: --device-map puts {} on cores",
                                Names(plan, mapped->on_cores))};
  }
  if (!left.empty()) {
    placement.note = fmt::format("{} {}: {}", Names(plan, left), Runs(left),
                                 FirstLine(machine.no_gpus));
  }
  return {};
}

std::string ListDevices() {
  const uint32_t cores = device::Cores();
  std::string text = cores == 1 ? "cpu:0  1 core\n"
                                : fmt::format("cpu:0 to cpu:{}  {} cores\n", cores - 1, cores);
  const device::GpuReport& report = device::FindGpus();
  for (size_t i = 0; i < report.gpus.size(); ++i) text += ListGpu(i, report.gpus[i]);
  if (!report.driver.empty()) {
    text += fmt::format("NVIDIA driver  for {}\n", report.driver);
    for (const device::GpuLibrary& library : report.libraries) text += ListLibrary(library);
  }
  if (!report.usable.ok()) {
    text += fmt::format("no GPU can be used: {}\n", report.usable.message());
  }
  return text;
}

nlohmann::ordered_json DevicesJson() {
  using Json = nlohmann::ordered_json;
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? Json() : Json(text);
  };
  const device::GpuReport& report = device::FindGpus();
  Json gpus = Json::array(), libraries = Json::array();
  for (size_t i = 0; i < report.gpus.size(); ++i) {
    const device::Gpu& gpu = report.gpus[i];
    gpus.push_back({{"device", fmt::format("cuda:{}", i)},
                    {"name", gpu.name},
                    {"memory_bytes", gpu.bytes},
                    {"compute_capability", fmt::format("{}.{}", gpu.major, gpu.minor)},
                    {"pci", gpu.pci},
                    {"copy_engines", gpu.copy_engines}});
  }
  for (const device::GpuLibrary& library : report.libraries) {
    libraries.push_back({{"name", library.name},
                         {"version", text_or_null(library.version)},
                         {"problem", text_or_null(library.problem)}});
  }
  return {{"cores", device::Cores()},
          {"gpus", std::move(gpus)},
          {"driver", text_or_null(report.driver)},
          {"libraries", std::move(libraries)},
          {"usable", report.usable.ok()},
          {"problem", text_or_null(report.usable.ok() ? "" : report.usable.message())}};
}

}  // namespace cgraph::command
