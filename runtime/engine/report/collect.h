// Finds out what the lanes of an engine do, for a report: from the positions of its queues alone,
// which may be read at any time, and what the plan says of the steps there.
#ifndef CGRAPH_RUNTIME_ENGINE_REPORT_COLLECT_H_
#define CGRAPH_RUNTIME_ENGINE_REPORT_COLLECT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/engine/report/position_log.h"
#include "runtime/engine/report/report.h"
#include "runtime/execute/work_queue.h"
#include "runtime/load/loaded_graph.h"
#include "runtime/load/queue_map.h"
#include "runtime/plan/placement.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

// ReportSource: what a report is made from. Nothing of it may go meanwhile.
struct ReportSource {
  const plan::Plan& plan;
  const std::vector<std::unique_ptr<LoadedGraph>>& graphs;
  const std::vector<std::unique_ptr<WorkQueue>>& work_queues;
  const QueueMap& queue_map;
  const plan::Placement& placement;
  const PositionLog& log;
  // Whether ranks share no memory: then who has come to a collective is told by positions alone.
  bool apart = false;
};

// CollectedLane: a lane that has work left, and the work queue that it belongs to.
struct CollectedLane {
  WaitingLane lane;
  uint32_t work_queue = 0;
};

// Returns the lanes that have work left: of each queue the one that it is at.
std::vector<CollectedLane> CollectLanes(const ReportSource& source);
// Returns the lanes of a work queue that is, or whose queues are, at these positions.
std::vector<WaitingLane> LanesAt(const ReportSource& source, uint32_t work_queue,
                                 const std::vector<Position>& positions);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_REPORT_COLLECT_H_
