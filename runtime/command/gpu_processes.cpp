#include "runtime/command/gpu_processes.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/cluster/shared/control.h"
#include "runtime/device/gpus.h"
#include "runtime/plan/load.h"
#include "runtime/plan/placement.h"

namespace cgraph::command {
namespace {

// Returns the GPUs that have calls which are launched as one.
std::set<uint32_t> GpusWithCaptures(const plan::Plan& plan, const device::GpuMap& gpus) {
  std::set<uint32_t> found;
  for (const auto& graph : plan.graphs) {
    for (uint32_t lane = 0; lane < graph->programs.size(); ++lane) {
      const auto gpu = gpus.find(plan.lanes[lane].device());
      const plan::Range& range = graph->programs[lane];
      if (gpu == gpus.end() || range.count() == 0) continue;
      const auto first = graph->instructions.begin() + range.first();
      const bool any = std::any_of(first, first + range.count(), [](const plan::Instruction& at) {
        return at.kind() == plan::Kind::call && at.capture_id() != 0;
      });
      if (any) found.insert(gpu->second);
    }
  }
  return found;
}

// Returns the flag that says otherwise, and why; empty: none does.
std::string WhyNotByFlags(const Options& options) {
  const std::pair<bool, const char*> flags[] = {
      {options.engine.processes == 1, "--processes 1 says so"},
      {options.engine.workers > 0, "--workers asks for threads of one process"},
      {!options.device_map.empty(), "--device-map deals the devices"},
      {!options.engine.capture, "--no-capture launches every kernel by itself"},
      {!options.engine.libraries.empty(),
       "--lib: native methods may share what they have in one process"}};
  for (const auto& [given, why] : flags) {
    if (given) return why;
  }
  return "";
}

// Returns why GPUs of several processes cannot share this machine's memory; empty: they can.
std::string WhyNotByGpus(const device::GpuMap& gpus) {
  const device::GpuReport& report = device::FindGpus();
  for (const auto& [device, gpu] : gpus) {
    if (gpu < report.gpus.size() && report.gpus[gpu].reaches_registered) continue;
    return fmt::format("cuda:{} reaches memory of other processes by other addresses than they do",
                       gpu);
  }
  return "";
}

}  // namespace

GpuProcesses ChooseGpuProcesses(const plan::Plan& plan, const Options& options,
                                const GpuPlacement& placement, bool under_launcher) {
  GpuProcesses chosen;
  std::set<uint32_t> gpus;
  for (const auto& [device, gpu] : placement.gpus) gpus.insert(gpu);
  if (under_launcher || options.engine.processes > 1 || gpus.size() < 2) return chosen;
  chosen.why_not = WhyNotByFlags(options);
  if (chosen.why_not.empty() && GpusWithCaptures(plan, placement.gpus).size() < 2) {
    chosen.why_not = "the plan has captures on fewer than two GPUs";
  }
  if (chosen.why_not.empty()) chosen.why_not = WhyNotByGpus(placement.gpus);
  if (chosen.why_not.empty() && plan::BusyDevices(plan).size() > cluster::kMostRanks) {
    chosen.why_not = fmt::format("an engine has at most {} processes", cluster::kMostRanks);
  }
  chosen.each = chosen.why_not.empty();
  return chosen;
}

Result<std::unique_ptr<Engine>> LoadChosen(std::unique_ptr<plan::Plan> plan, EngineOptions options,
                                           GpuProcesses& chosen) {
  if (!chosen.each) return Engine::Load(std::move(plan), options);
  const std::vector<uint8_t> bytes = plan::ToBytes(*plan);
  EngineOptions several = options;
  several.processes = kProcessPerDevice;
  auto made = Engine::Load(std::move(plan), several);
  // One process meets the same errors and reports them itself.
  const StatusCode code = made.ok() ? StatusCode::kOk : made.status().code();
  if (code != StatusCode::kInvalid && code != StatusCode::kNotFound &&
      code != StatusCode::kUnsupported && code != StatusCode::kFailed) {
    return made;
  }
  const std::string& why = made.status().message();
  chosen = {false, "with more the plan is not loaded: " + why.substr(0, why.find('\n'))};
  auto again = plan::FromBytes({bytes.data(), bytes.size()});
  if (!again.ok()) return again.status();
  return Engine::Load(std::move(*again), options);
}

}  // namespace cgraph::command
