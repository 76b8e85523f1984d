// LoadedPlan: a plan as this rank runs it: everything that is looked up, made and allocated before
// the first execution. Load() (load.h) fills it. Afterwards only what lies in its memory changes.
#ifndef CGRAPH_RUNTIME_LOAD_LOADED_PLAN_H_
#define CGRAPH_RUNTIME_LOAD_LOADED_PLAN_H_

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/sync/event_count.h"
#include "runtime/cluster/shared/exchange.h"
#include "runtime/cluster/shared/region.h"
#include "runtime/device/device.h"
#include "runtime/device/gpus.h"
#include "runtime/device/shared_heap.h"
#include "runtime/load/arenas.h"
#include "runtime/load/communication/native_collectives.h"
#include "runtime/load/kernels.h"
#include "runtime/load/loaded_graph.h"
#include "runtime/load/peers/rank_view.h"
#include "runtime/load/queue_map.h"
#include "runtime/plan/node_parts.h"
#include "runtime/plan/placement.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

struct LoadedPlan {
  std::unique_ptr<plan::Plan> plan;  // or this rank's part of it
  plan::Placement placement;
  std::vector<plan::GraphTotals> totals;  // by graph, where ranks have parts of the plan

  // The ranks of the engine: those of one machine share a region, those of several are apart.
  uint32_t rank = 0, ranks = 1;
  std::vector<uint32_t> rank_of_worker;  // where there are several
  bool apart = false;
  std::shared_ptr<cluster::Region> region;

  // The GPU of each device that runs on one, as the machine of the device's node counts.
  device::GpuMap gpus;
  std::vector<std::unique_ptr<device::Device>> devices;
  bool has_queues = false;  // some device does its work later than it is issued
  std::unique_ptr<device::SharedHeap> heap;     // of what lanes share beside values
  std::unique_ptr<cluster::Exchange> exchange;  // where ranks of one machine have GPUs
  RankView view;
  std::unique_ptr<Kernels> kernels;
  NativeCollectives native;
  std::unique_ptr<Arenas> arenas;
  std::span<EventCount> event_counts;  // by worker
  QueueMap queue_map;
  std::vector<std::unique_ptr<LoadedGraph>> graphs;  // the plan's, then the start graph
  bool has_start = false;

  bool several_ranks() const { return ranks != 1; }
  // Returns whether ranks of one machine have GPUs.
  bool among_gpu_ranks() const { return view.exchange != nullptr; }
  uint32_t WorkerOfLane(uint32_t lane) const {
    return placement.worker_of_work_queue[placement.work_queue_of_lane[lane]];
  }
  uint32_t RankOfWorkQueue(uint32_t work_queue) const {
    return several_ranks() ? rank_of_worker[placement.worker_of_work_queue[work_queue]] : 0;
  }
  // Returns whether this process has the worker, and the work queue.
  bool IsHere(uint32_t worker) const { return !several_ranks() || rank_of_worker[worker] == rank; }
  bool HasWorkQueue(uint32_t work_queue) const {
    return IsHere(placement.worker_of_work_queue[work_queue]);
  }
  // Returns whether another machine has this device of the plan.
  bool IsElsewhere(uint32_t device) const { return apart && plan->devices[device]->node != rank; }
  // Returns the rank that serves the device.
  uint32_t RankOfDevice(uint32_t device) const {
    if (apart) return plan->devices[device]->node;
    return several_ranks() ? view.rank_of_device[device] : 0;
  }
  // Returns the devices of a rank: "gpu[0], gpu[1]".
  std::string DevicesOf(uint32_t rank) const;
  // Returns the GPUs that this process serves, and those of this machine, whichever of its
  // processes serves them.
  device::GpuMap OwnGpus() const;
  device::GpuMap GpusOfMachine() const { return apart ? OwnGpus() : gpus; }
  // Returns how many captures of queues this rank has.
  uint32_t Captures() const;
  // Returns a number of each device's GPU that no other GPU has, on whatever machine.
  std::map<uint32_t, uint32_t> NumbersOfGpus() const;
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_LOADED_PLAN_H_
