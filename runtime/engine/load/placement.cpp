#include "runtime/engine/load/placement.h"

#include <algorithm>

#include "runtime/device/bell.h"

namespace cgraph::engine {
namespace {

// Devices other than the caller whose lanes have anything to do in some graph.
std::vector<uint32_t> BusyDevices(const plan::Plan& plan) {
  std::vector<bool> busy(plan.devices.size(), false);
  const auto look = [&](const plan::Graph& graph) {
    for (uint32_t lane = 0; lane < graph.programs.size(); ++lane) {
      if (graph.programs[lane].count() != 0) busy[plan.lanes[lane].device()] = true;
    }
  };
  if (plan.start) look(*plan.start);
  for (const auto& graph : plan.graphs) look(*graph);
  std::vector<uint32_t> devices;
  for (uint32_t device = 0; device < busy.size(); ++device) {
    if (busy[device] && plan.devices[device]->kind != plan::DeviceKind::caller) {
      devices.push_back(device);
    }
  }
  return devices;
}

bool PlanHas(const plan::Plan& plan, uint32_t workers) {
  return plan.workers == workers &&
         std::all_of(plan.lanes.begin(), plan.lanes.end(),
                     [&](const plan::LaneInfo& lane) { return lane.worker() < workers; });
}

}  // namespace

Placement Place(const plan::Plan& plan, uint32_t workers, bool merged) {
  const std::vector<uint32_t> devices = BusyDevices(plan);
  const uint32_t most = std::max(1u, static_cast<uint32_t>(devices.size()) + 1);
  if (workers == 0) workers = std::min(std::max(1u, plan.workers), device::Cores());
  workers = std::min(workers, most);

  Placement placement;
  placement.workers = workers;
  std::vector<uint32_t> worker_of_device(plan.devices.size(), 0);
  for (uint64_t i = 0; i < devices.size(); ++i) {
    worker_of_device[devices[i]] = static_cast<uint32_t>(
        workers > devices.size() ? i + 1 : i * workers / devices.size());
  }
  const bool as_planned = PlanHas(plan, workers);
  for (const plan::LaneInfo& lane : plan.lanes) {
    const uint32_t worker = as_planned ? lane.worker() : worker_of_device[lane.device()];
    if (merged) {
      placement.strand_of_lane.push_back(worker);
    } else {
      placement.strand_of_lane.push_back(static_cast<uint32_t>(placement.worker_of_strand.size()));
      placement.worker_of_strand.push_back(worker);
    }
  }
  for (uint32_t worker = 0; merged && worker < workers; ++worker) {
    placement.worker_of_strand.push_back(worker);
  }
  return placement;
}

}  // namespace cgraph::engine
