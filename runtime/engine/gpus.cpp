// Which devices of a plan run on which GPUs, of this machine and of others.
#include <map>
#include <utility>

#include <fmt/format.h>

#include "runtime/device/cuda_library/cuda_library.h"
#include "runtime/engine/core.h"
#include "runtime/engine/machines/machine_gpus.h"
#include "runtime/plan/device_map.h"

namespace cgraph::engine {
namespace {

// Returns the GPU of each gpu of the plan that gets one.
Result<device::GpuMap> GpusFor(plan::Plan& plan, const EngineOptions& options) {
  // GPUs lean on what is proved: an extent is one number everywhere.
  if (!options.gpus || !options.proved || plan::BusyGpus(plan).empty()) {
    return device::GpuMap();
  }
  const bool one_machine = options.peers == nullptr;
  if (one_machine && !device::FindGpus().usable.ok()) {
    if (options.require_gpus) return device::FindGpus().usable;
    return device::GpuMap();
  }
  if (!options.gpu_map.empty()) return options.gpu_map;
  auto machines = FindMachines(plan, options.peers);
  if (!machines.ok()) return machines.status();
  auto mapped = plan::MapDevices(plan, "", *machines);
  if (!mapped.ok()) return mapped.status();
  if (options.require_gpus && !mapped->left_to_cores.empty()) {
    const plan::WithoutGpus first =
        plan::ByReason(plan, mapped->left_to_cores, *machines).front();
    return Status(StatusCode::kNotFound,
                  fmt::format("{} would run on CPU threads: {}",
                              plan::NamesOf(plan, first.gpus), first.why));
  }
  return std::move(mapped->on_gpus);
}

}  // namespace

Status Core::FindGpus() {
  auto gpus = GpusFor(*plan_, options_);
  if (!gpus.ok()) return gpus.status();
  gpus_ = std::move(*gpus);
  return Status::Ok();
}

// Returns those that this process serves.
device::GpuMap Core::OwnGpus() const {
  device::GpuMap own;
  for (const auto& [device, gpu] : gpus_) {
    const bool another_rank =
        ranks_.region != nullptr && view_.rank_of_device[device] != ranks_.rank;
    if (!IsElsewhere(device) && !another_rank) own.emplace(device, gpu);
  }
  return own;
}

// Returns those of this machine, whichever of its processes serves them.
device::GpuMap Core::GpusOfMachine() const { return machines_ != nullptr ? OwnGpus() : gpus_; }

// Returns a number of each device's GPU that no other GPU has, on whatever machine.
std::map<uint32_t, uint32_t> Core::NumbersOfGpus() const {
  constexpr uint32_t kMostOfMachine = 1 << 16;
  std::map<uint32_t, uint32_t> numbers;
  for (const auto& [device, gpu] : gpus_) {
    const uint32_t node = options_.peers == nullptr ? 0 : plan_->devices[device]->node;
    numbers.emplace(device, node * kMostOfMachine + gpu);
  }
  return numbers;
}

}  // namespace cgraph::engine
