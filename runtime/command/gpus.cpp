#include "runtime/command/gpus.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "runtime/base/sync/cores.h"
#include "runtime/base/text.h"
#include "runtime/cluster/supervision.h"
#include "runtime/device/gpus.h"
#include "runtime/engine/ranks/machines.h"
#include "runtime/plan/device_map.h"
#include "runtime/plan/print.h"

namespace cgraph::command {
namespace {

// Returns what was seen: a status of GPUs has that as its first line, and what to do as its second.
std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

using plan::NamesOf;

std::string_view Runs(const std::vector<uint32_t>& devices) {
  return devices.size() == 1 ? "runs on a CPU thread" : "run on CPU threads";
}

// Returns what a reason begins with: "the machine of rank 1 (process 7 on b): "; nothing of this
// machine.
std::string MachinePrefix(const plan::Plan& plan, const std::vector<uint32_t>& gpus,
                          const std::vector<plan::Machine>& machines) {
  if (machines.size() == 1) return "";
  const plan::Machine& first = plan::MachineOf(plan, gpus.front(), machines);
  const bool same = std::all_of(gpus.begin(), gpus.end(), [&](uint32_t gpu) {
    return &plan::MachineOf(plan, gpu, machines) == &first;
  });
  return same ? first.name + ": " : "each of their machines says: ";
}

// Refuses gpus on cores where GPUs are required, and notes them where no map asked for cores.
Problem CheckGpusOnCores(const plan::Plan& plan, const Options& options,
                         const std::vector<plan::Machine>& machines,
                         const plan::MappedGpus& mapped, GpuPlacement& placement) {
  const auto left = plan::ByReason(plan, mapped.left_to_cores, machines);
  if (options.engine.require_gpus && !left.empty()) {
    const auto& [gpus, why] = left.front();
    return {kEnvironment,
            fmt::format("{} would run on CPU threads: {}{}, or leave out --require-gpu",
                        NamesOf(plan, gpus), MachinePrefix(plan, gpus, machines), why)};
  }
  if (options.engine.require_gpus && !mapped.on_cores.empty()) {
    return {kUsage, fmt::format("--require-gpu: --device-map puts {} on cores",
                                NamesOf(plan, mapped.on_cores))};
  }
  for (const auto& [gpus, why] : left) {
    placement.notes.push_back(fmt::format("{} {}: {}{}", NamesOf(plan, gpus), Runs(gpus),
                                          MachinePrefix(plan, gpus, machines), FirstLine(why)));
  }
  return {};
}

// Prints a library. The second line of a problem with two lines stands below the first.
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

Problem PlaceGpus(plan::Plan& plan, const Options& options, cluster::Peers* peers,
                  GpuPlacement& placement) {
  const auto machines = engine::FindMachines(plan, peers);
  if (!machines.ok()) return ProblemOf(machines.status());
  auto mapped =
      plan::MapDevices(plan, fmt::format("{}", fmt::join(options.device_map, ",")), *machines);
  if (!mapped.ok()) {
    const bool absent = mapped.status().code() == StatusCode::kNotFound;
    return {absent ? kEnvironment : kUsage, mapped.status().message()};
  }
  placement.gpus = mapped->on_gpus;
  return CheckGpusOnCores(plan, options, *machines, *mapped, placement);
}

namespace {

std::string ListDevices() {
  const uint32_t cores = Cores();
  std::string text = cores == 1 ? "cpu:0  1 core\n"
                                : fmt::format("cpu:0 to cpu:{}  {} cores\n", cores - 1, cores);
  const device::GpuReport& report = device::FindGpus();
  for (size_t i = 0; i < report.gpus.size(); ++i) text += ListGpu(i, report.gpus[i]);
  if (!report.driver.empty()) {
    text += fmt::format("NVIDIA driver  for {}\n", report.driver);
    for (const device::GpuLibrary& library : device::FindGpuLibraries()) {
      text += ListLibrary(library);
    }
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
  for (const device::GpuLibrary& library : device::FindGpuLibraries()) {
    libraries.push_back({{"name", library.name},
                         {"version", text_or_null(library.version)},
                         {"problem", text_or_null(library.problem)}});
  }
  return {{"cores", Cores()},
          {"gpus", std::move(gpus)},
          {"driver", text_or_null(report.driver)},
          {"libraries", std::move(libraries)},
          {"usable", report.usable.ok()},
          {"problem", text_or_null(report.usable.ok() ? "" : report.usable.message())}};
}

// Takes the first line off a text.
std::string TakeLine(std::string& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string line = text.substr(0, end);
  text.erase(0, end + 1);
  return line;
}

// Returns the lines of a text, each with two spaces in front.
std::string Indented(std::string text) {
  std::string indented;
  while (!text.empty()) indented += fmt::format("  {}\n", TakeLine(text));
  return indented;
}

}  // namespace

std::string DescribeDevices() {
  const std::string json =
      DevicesJson().dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return fmt::format("{}\n{}\n{}", cluster::Process::This().Text(), json, ListDevices());
}

ExitCode ListMachines(const Options& options, cluster::Peers* peers) {
  if (peers == nullptr) {
    if (options.json) PrintJson(DevicesJson());
    else std::fputs(Printable(ListDevices()).c_str(), stdout);
    return kSuccess;
  }
  auto told = engine::DescribeMachines(*peers);
  if (!told.ok()) return Fail(options, told.status());
  (*told)[0] = DescribeDevices();
  using Json = nlohmann::ordered_json;
  Json ranks = Json::array();
  for (size_t rank = 0; rank < told->size(); ++rank) {
    std::string& text = (*told)[rank];
    const std::string process = TakeLine(text);
    const Json devices = Json::parse(TakeLine(text), nullptr, /*allow_exceptions=*/false);
    ranks.push_back({{"rank", rank}, {"process", process}, {"devices", devices}});
    if (options.json) continue;
    std::fputs(Printable(fmt::format("rank {} ({})\n{}", rank, process, Indented(text))).c_str(),
               stdout);
  }
  if (options.json) PrintJson({{"ranks", ranks}});
  return kSuccess;
}

}  // namespace cgraph::command
