// QueueMap: which in-order queue carries out each lane.
//
// Lanes of immediate devices are carried out by the work queue that issues them: together they are
// one in-order queue. Every other lane has a queue of its own. Two lanes need no wait between them
// only where one queue carries out both. That one work queue issues both is not enough: issuing
// orders nothing.
#ifndef CGRAPH_RUNTIME_LOAD_QUEUE_MAP_H_
#define CGRAPH_RUNTIME_LOAD_QUEUE_MAP_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/base/sync/event_count.h"
#include "runtime/device/device.h"
#include "runtime/plan/placement.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

struct QueueMap {
  struct Queue {
    uint32_t work_queue = 0;  // that issues to it
    // Among the work queue's queues, from 1; 0: the work queue itself.
    uint32_t slot = 0;
    uint32_t device = plan::kNone;  // of which it is opened, unless it is the work queue
    // Notified when something that it waits for has come.
    EventCount* event_count = nullptr;
  };
  std::vector<Queue> queues;        // first one per work queue: itself
  std::vector<uint32_t> of_lane;

  const Queue& OfLane(uint32_t lane) const { return queues[of_lane[lane]]; }
};

// `event_counts`: the event count of each work queue's worker.
QueueMap MapQueues(const plan::Plan& plan, const plan::Placement& placement,
                   const std::vector<std::unique_ptr<device::Device>>& devices,
                   const std::vector<EventCount*>& event_counts);

// Returns what each queue carries out in a round, in order. `work_queues`: what each work queue
// issues.
std::vector<std::vector<uint32_t>> SplitByQueue(
    const QueueMap& map, const plan::Graph& graph,
    const std::vector<std::vector<uint32_t>>& work_queues);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_QUEUE_MAP_H_
