// Placement: which worker drives which lane, in which work queue and in which order.
//
// A worker is a thread that drives work queues; a work queue is an in-order list of instructions.
// For a proved plan a worker has one work queue, with its lanes merged by the certificate, and the
// caller's worker may have two more (SplitCaller); for an unproved plan each lane is a work
// queue of its own. The engine runs a placement and the simulator plays it.
#ifndef CGRAPH_RUNTIME_PLAN_PLACEMENT_H_
#define CGRAPH_RUNTIME_PLAN_PLACEMENT_H_

#include <cstdint>
#include <map>
#include <vector>

#include "runtime/plan/plan.h"

namespace cgraph::plan {

struct Placement {
  uint32_t workers = 1;
  bool merged = true;  // lanes share work queues; else each has one
  std::vector<uint32_t> worker_of_work_queue;
  std::vector<uint32_t> work_queue_of_lane;
};

// Returns the devices other than the caller whose lanes have anything to do in some graph.
std::vector<uint32_t> BusyDevices(const Plan& plan);
// Returns whether the plan has a partition into exactly so many workers.
bool HasWorkers(const Plan& plan, uint32_t workers);
// Deals these devices in order, in equal shares, the caller to worker 0. Returns the worker by
// device.
std::vector<uint32_t> InShares(const Plan& plan, const std::vector<uint32_t>& devices,
                               uint32_t workers);

// Returns the plan's own partition where it has `workers` of them (at least 1). Otherwise devices
// are dealt in order, in equal shares, the caller's to worker 0. More workers than one per device
// with work, and one for the caller, are not made. `gpus`: the GPU of each device that runs on one.
// Devices on the same GPU have the same worker, that of the first of them: a GPU may begin work in
// the order in which it is issued, and only one thread issues in the order of the certificate.
Placement Place(const Plan& plan, uint32_t workers, bool merged,
                const std::map<uint32_t, uint32_t>& gpus = {});

// Makes these positions, by instruction, the graph's certificate.
void SetCertificate(const std::vector<uint32_t>& positions, Graph& graph);
// Makes a partition the plan's own: its workers, those of its lanes, and its certificates.
void Follow(const Partition& partition, Plan& plan);

// The functions that deal leave a plan without other partitions than its own.

// Gives the plan's lanes to so many workers. A plan without a partition for exactly so many is left
// to Place, which deals in equal shares, but takes the certificate of the next partition for more
// workers: one that was made for few workers suits others better than the plan's own.
void Deal(Plan& plan, uint32_t workers);

// Gives each device with work a worker of its own; the caller has the first one's.
void DealByDevice(Plan& plan);

// Gives the devices of each node workers of that node, at most so many; the caller has the first
// worker of node 0.
void DealByNode(Plan& plan, uint32_t most);

// Returns what each work queue runs in a round of the graph: instructions in the order of the
// certificate where lanes are merged, otherwise in the lane's.
std::vector<std::vector<uint32_t>> WorkQueuesOf(const Placement& placement,
                                                const Graph& graph);

// Returns the end of the step that begins at work queue[first]. Communications that share a
// position of the certificate are one group: all parts start before any is waited for.
size_t StepEnd(const Placement& placement, const Graph& graph,
               const std::vector<uint32_t>& work_queue, size_t first);

// Gives the caller's lanes of a proved plan two work queues of their own at worker 0, where several
// executions may be in progress: what awaits the results of one must not hold up the inputs of the
// next one, nor the devices of the worker. Not for a plan that runs on GPUs, whose worker keeps to
// the certificate's order. The engine alone does this: the simulator and the partition play a
// worker in one order, which takes longer at most.
void SplitCaller(const plan::Plan& plan, Placement& placement);

}  // namespace cgraph::plan

#endif  // CGRAPH_RUNTIME_PLAN_PLACEMENT_H_
