#include "runtime/plan/placement.h"

#include <algorithm>
#include <map>

namespace cgraph::plan {

std::vector<uint32_t> BusyDevices(const Plan& plan) {
  std::vector<bool> busy(plan.devices.size(), false);
  const auto look = [&](const Graph& graph) {
    for (uint32_t lane = 0; lane < graph.programs.size(); ++lane) {
      if (graph.programs[lane].count() != 0) busy[plan.lanes[lane].device()] = true;
    }
  };
  if (plan.start) look(*plan.start);
  for (const auto& graph : plan.graphs) look(*graph);
  std::vector<uint32_t> devices;
  for (uint32_t device = 0; device < busy.size(); ++device) {
    if (busy[device] && plan.devices[device]->kind != DeviceKind::caller) {
      devices.push_back(device);
    }
  }
  return devices;
}

bool HasWorkers(const Plan& plan, uint32_t workers) {
  return plan.workers == workers &&
         std::all_of(plan.lanes.begin(), plan.lanes.end(),
                     [&](const LaneInfo& lane) { return lane.worker() < workers; });
}

std::vector<uint32_t> InShares(const Plan& plan, const std::vector<uint32_t>& devices,
                               uint32_t workers) {
  std::vector<uint32_t> worker_of(plan.devices.size(), 0);
  for (uint64_t i = 0; i < devices.size(); ++i) {
    worker_of[devices[i]] = static_cast<uint32_t>(
        workers > devices.size() ? i + 1 : i * workers / devices.size());
  }
  return worker_of;
}

namespace {

// Returns each device's worker: that of the plan's lanes where they are dealt to so many.
std::vector<uint32_t> WorkersOfDevices(const Plan& plan, const std::vector<uint32_t>& devices,
                                       uint32_t workers) {
  std::vector<uint32_t> worker_of = InShares(plan, devices, workers);
  if (!HasWorkers(plan, workers)) return worker_of;
  for (const LaneInfo& lane : plan.lanes) worker_of[lane.device()] = lane.worker();
  return worker_of;
}

}  // namespace

Placement Place(const Plan& plan, uint32_t workers, bool merged,
                const std::map<uint32_t, uint32_t>& gpus) {
  const std::vector<uint32_t> devices = BusyDevices(plan);
  const uint32_t most = std::max(1u, static_cast<uint32_t>(devices.size()) + 1);
  workers = std::clamp(workers, 1u, most);

  Placement placement;
  placement.workers = workers;
  placement.merged = merged;
  const bool as_planned = HasWorkers(plan, workers);
  const std::vector<uint32_t> worker_of_device = WorkersOfDevices(plan, devices, workers);
  std::map<uint32_t, uint32_t> worker_of_gpu;
  for (const auto& [device, gpu] : gpus) worker_of_gpu.emplace(gpu, worker_of_device[device]);
  for (const LaneInfo& lane : plan.lanes) {
    const auto gpu = gpus.find(lane.device());
    const uint32_t worker = gpu != gpus.end() ? worker_of_gpu[gpu->second]
                            : as_planned      ? lane.worker()
                                              : worker_of_device[lane.device()];
    if (merged) {
      placement.work_queue_of_lane.push_back(worker);
    } else {
      placement.work_queue_of_lane.push_back(
          static_cast<uint32_t>(placement.worker_of_work_queue.size()));
      placement.worker_of_work_queue.push_back(worker);
    }
  }
  for (uint32_t worker = 0; merged && worker < workers; ++worker) {
    placement.worker_of_work_queue.push_back(worker);
  }
  return placement;
}

void SetCertificate(const std::vector<uint32_t>& positions, Graph& graph) {
  for (uint32_t i = 0; i < positions.size(); ++i) {
    graph.instructions[i].mutate_certificate_position(positions[i]);
  }
}

namespace {

void SetCertificates(const Partition& partition, Plan& plan) {
  for (size_t i = 0; i < plan.graphs.size(); ++i) {
    SetCertificate(partition.certificates[i]->positions, *plan.graphs[i]);
  }
}

}  // namespace

void Follow(const Partition& partition, Plan& plan) {
  plan.workers = partition.workers;
  for (size_t i = 0; i < plan.lanes.size(); ++i) {
    plan.lanes[i].mutate_worker(partition.worker_of_lane[i]);
  }
  SetCertificates(partition, plan);
}

void Deal(Plan& plan, uint32_t workers) {
  const auto next =
      std::lower_bound(plan.partitions.begin(), plan.partitions.end(), workers,
                       [](const auto& partition, uint32_t n) { return partition->workers < n; });
  if (next != plan.partitions.end() && !HasWorkers(plan, workers)) {
    (*next)->workers == workers ? Follow(**next, plan) : SetCertificates(**next, plan);
  }
  plan.partitions.clear();
}

void DealByDevice(Plan& plan) {
  plan.partitions.clear();
  const std::vector<uint32_t> devices = BusyDevices(plan);
  plan.workers = std::max(1u, static_cast<uint32_t>(devices.size()));
  const std::vector<uint32_t> worker_of = InShares(plan, devices, plan.workers);
  for (LaneInfo& lane : plan.lanes) lane.mutate_worker(worker_of[lane.device()]);
}

void DealByNode(Plan& plan, uint32_t most) {
  std::map<uint32_t, std::vector<uint32_t>> devices_of{{0, {}}};  // by node
  for (uint32_t device : BusyDevices(plan)) {
    devices_of[plan.devices[device]->node].push_back(device);
  }
  std::vector<uint32_t> worker_of(plan.devices.size(), 0);
  plan.partitions.clear();
  plan.workers = 0;
  for (const auto& [node, devices] : devices_of) {
    const auto workers = std::min<uint64_t>(std::max(1u, most), devices.size());
    for (uint64_t i = 0; i < devices.size(); ++i) {
      worker_of[devices[i]] = plan.workers + static_cast<uint32_t>(i * workers / devices.size());
    }
    plan.workers += static_cast<uint32_t>(std::max<uint64_t>(1, workers));
  }
  for (LaneInfo& lane : plan.lanes) lane.mutate_worker(worker_of[lane.device()]);
}

std::vector<std::vector<uint32_t>> WorkQueuesOf(const Placement& placement, const Graph& graph) {
  std::vector<std::vector<uint32_t>> work_queues(placement.worker_of_work_queue.size());
  for (uint32_t lane = 0; lane < graph.programs.size(); ++lane) {
    std::vector<uint32_t>& work_queue = work_queues[placement.work_queue_of_lane[lane]];
    const Range& range = graph.programs[lane];
    for (uint32_t i = 0; i < range.count(); ++i) work_queue.push_back(range.first() + i);
  }
  if (!placement.merged) return work_queues;
  for (std::vector<uint32_t>& work_queue : work_queues) {
    std::stable_sort(work_queue.begin(), work_queue.end(), [&](uint32_t a, uint32_t b) {
      return graph.instructions[a].certificate_position() <
             graph.instructions[b].certificate_position();
    });
  }
  return work_queues;
}

size_t StepEnd(const Placement& placement, const Graph& graph,
               const std::vector<uint32_t>& work_queue, size_t first) {
  const Instruction& step = graph.instructions[work_queue[first]];
  size_t end = first + 1;
  while (placement.merged && step.kind() == Kind::comm && end < work_queue.size() &&
         graph.instructions[work_queue[end]].kind() == Kind::comm &&
         graph.instructions[work_queue[end]].certificate_position() ==
             step.certificate_position()) {
    ++end;
  }
  return end;
}

using namespace plan;

namespace {

template <typename Visit>
void ForEachOf(const Graph& graph, uint32_t lane, Visit&& visit) {
  const Range& range = graph.programs[lane];
  for (uint32_t i = 0; i < range.count(); ++i) visit(graph.instructions[range.first() + i]);
}

// Returns whether an instruction awaits, in its round, a message or a lane that follows devices.
// `signaller`: the lane that signals each event.
bool AwaitsDevices(const Graph& graph, const Instruction& at,
                   const std::vector<uint32_t>& signaller, const std::vector<bool>& follows) {
  for (uint32_t i = at.first(); i < at.first() + at.inputs(); ++i) {
    if (at.kind() == Kind::wait && graph.waits[i].lag() == 0 &&
        follows[signaller[graph.waits[i].event()]]) {
      return true;
    }
    if (at.kind() == Kind::comm && graph.parts[i].part() != Part::send) return true;
  }
  return false;
}

// Adds to `follows` the lanes that await anything of devices in a round of the graph.
void AddFollowers(const Graph& graph, std::vector<bool>& follows) {
  std::vector<uint32_t> signaller(graph.events, 0);
  for (uint32_t lane = 0; lane < graph.programs.size(); ++lane) {
    ForEachOf(graph, lane, [&](const Instruction& at) {
      if (at.kind() == Kind::signal) signaller[at.subject()] = lane;
    });
  }
  for (bool changed = true; changed;) {  // once for each of the few lanes of a chain
    changed = false;
    for (uint32_t lane = 0; lane < graph.programs.size(); ++lane) {
      if (follows[lane]) continue;
      ForEachOf(graph, lane, [&](const Instruction& at) {
        follows[lane] = follows[lane] || AwaitsDevices(graph, at, signaller, follows);
      });
      changed |= follows[lane];
    }
  }
}

// Returns, by lane, whether it is a device's or awaits anything of devices in a round. The others,
// which are the caller's, pass inputs on.
std::vector<bool> FollowDevices(const Plan& plan) {
  std::vector<bool> follows(plan.lanes.size(), false);
  for (uint32_t lane = 0; lane < plan.lanes.size(); ++lane) {
    follows[lane] = plan.devices[plan.lanes[lane].device()]->kind != DeviceKind::caller;
  }
  if (plan.start) AddFollowers(*plan.start, follows);
  for (const auto& graph : plan.graphs) AddFollowers(*graph, follows);
  return follows;
}

bool MayOverlap(const Plan& plan) {
  return std::any_of(plan.graphs.begin(), plan.graphs.end(),
                     [](const auto& graph) { return graph->inflight > 1; });
}

}  // namespace

void SplitCaller(const Plan& plan, Placement& placement) {
  if (!placement.merged || !MayOverlap(plan)) return;
  const std::vector<bool> follows = FollowDevices(plan);
  const auto inputs = static_cast<uint32_t>(placement.worker_of_work_queue.size());
  placement.worker_of_work_queue.insert(placement.worker_of_work_queue.end(), 2, 0);
  for (uint32_t lane = 0; lane < plan.lanes.size(); ++lane) {
    if (plan.devices[plan.lanes[lane].device()]->kind != DeviceKind::caller) continue;
    placement.work_queue_of_lane[lane] = inputs + follows[lane];
  }
}

}  // namespace cgraph::plan
