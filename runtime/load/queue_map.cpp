#include "runtime/load/queue_map.h"

#include <algorithm>

namespace cgraph::engine {

QueueMap MapQueues(const plan::Plan& plan, const plan::Placement& placement,
                   const std::vector<std::unique_ptr<device::Device>>& devices,
                   const std::vector<EventCount*>& event_counts) {
  QueueMap map;
  std::vector<uint32_t> slots(event_counts.size(), 0);
  for (uint32_t work_queue = 0; work_queue < event_counts.size(); ++work_queue) {
    map.queues.push_back({work_queue, 0, plan::kNone, event_counts[work_queue]});
  }
  for (uint32_t lane = 0; lane < plan.lanes.size(); ++lane) {
    const uint32_t work_queue = placement.work_queue_of_lane[lane];
    const uint32_t device = plan.lanes[lane].device();
    if (devices[device]->traits().immediate) {
      map.of_lane.push_back(work_queue);
      continue;
    }
    EventCount* own = devices[device]->event_count();
    map.of_lane.push_back(static_cast<uint32_t>(map.queues.size()));
    map.queues.push_back({work_queue, ++slots[work_queue], device,
                          own != nullptr ? own : event_counts[work_queue]});
  }
  return map;
}

std::vector<std::vector<uint32_t>> SplitByQueue(
    const QueueMap& map, const plan::Graph& graph,
    const std::vector<std::vector<uint32_t>>& work_queues) {
  std::vector<uint32_t> queue_of(graph.instructions.size());
  for (uint32_t lane = 0; lane < graph.programs.size(); ++lane) {
    const plan::Range& range = graph.programs[lane];
    std::fill_n(queue_of.begin() + range.first(), range.count(), map.of_lane[lane]);
  }
  std::vector<std::vector<uint32_t>> queues(map.queues.size());
  for (const std::vector<uint32_t>& work_queue : work_queues) {
    for (uint32_t instruction : work_queue) queues[queue_of[instruction]].push_back(instruction);
  }
  return queues;
}

}  // namespace cgraph::engine
