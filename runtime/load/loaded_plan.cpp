#include "runtime/load/loaded_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/plan/print.h"

namespace cgraph::engine {

std::string LoadedPlan::DevicesOf(uint32_t of_rank) const {
  std::vector<std::string> names;
  for (uint32_t lane = 0; lane < placement.work_queue_of_lane.size(); ++lane) {
    if (rank_of_worker[WorkerOfLane(lane)] != of_rank) continue;
    std::string name = plan::DeviceName(*plan, plan->lanes[lane].device());
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(std::move(name));
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

device::GpuMap LoadedPlan::OwnGpus() const {
  device::GpuMap own;
  for (const auto& [device, gpu] : gpus) {
    const bool another_rank = region != nullptr && view.rank_of_device[device] != rank;
    if (!IsElsewhere(device) && !another_rank) own.emplace(device, gpu);
  }
  return own;
}

std::map<uint32_t, uint32_t> LoadedPlan::NumbersOfGpus() const {
  constexpr uint32_t kMostOfMachine = 1 << 16;
  std::map<uint32_t, uint32_t> numbers;
  for (const auto& [device, gpu] : gpus) {
    numbers.emplace(device, (apart ? plan->devices[device]->node : 0) * kMostOfMachine + gpu);
  }
  return numbers;
}

uint32_t LoadedPlan::Captures() const {
  uint32_t captures = 0;
  for (const auto& graph : graphs) {
    for (const StepList& program : graph->programs) {
      captures += static_cast<uint32_t>(program.segments.size());
    }
  }
  return captures;
}

}  // namespace cgraph::engine
