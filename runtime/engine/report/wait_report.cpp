// The report of who waits for whom: what lanes do (report/collect.h), and on which rank.

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/omission.h"
#include "runtime/engine/core.h"
#include "runtime/engine/report/collect.h"
#include "runtime/engine/report/report.h"

namespace cgraph::engine {

ReportSource Core::Source() const {
  return {*plan_, graphs_, work_queues_, queue_map_, placement_, positions_, machines_ != nullptr};
}

std::vector<WaitingLane> Core::WaitingLanes() const {
  std::vector<WaitingLane> lanes;
  for (CollectedLane& collected : CollectLanes(Source())) {
    SetRank(collected.work_queue, collected.lane);
    lanes.push_back(std::move(collected.lane));
  }
  return lanes;
}

void Core::SetRank(uint32_t work_queue, WaitingLane& lane) const {
  if (!several_ranks()) return;
  const uint32_t rank = ranks_.of_worker[placement_.worker_of_work_queue[work_queue]];
  lane.rank = rank;
  lane.process = RankText(rank);
  if (machines_ != nullptr) {
    lane.halted = machines_->others() != nullptr && machines_->others()->IsSilent(rank);
  } else if (ranks_.processes != nullptr) {
    lane.halted = rank != 0 && ranks_.processes->IsStopped(rank);
  }
}

std::string Core::Describe(const std::vector<Position>& positions, uint32_t work_queue) const {
  std::string text;
  const std::vector<WaitingLane> lanes = LanesAt(Source(), work_queue, positions);
  for (uint32_t i = 0; i < lanes.size(); ++i) text += LinesOf(lanes, std::vector<uint32_t>{i});
  return text;
}

std::string Core::ReportOf(const std::vector<WaitingLane>& lanes) const {
  std::string report = ReportText(lanes, StoppedRanks());
  if (report.empty()) return "no lane has work left";
  report.pop_back();
  return report;
}

// An execution outlives its engine, and a Get() with a time-out may be inside this function when
// the engine goes.
std::string Core::WaitReport() const {
  Stretch(Omission::kEndReport);
  std::lock_guard lock(report_mutex_);
  if (released_ && !Omits(Omission::kEndReport)) return "the engine was torn down";
  return ReportOf(WaitingLanes());
}

std::string Core::WaitReportDot() const {
  std::lock_guard lock(report_mutex_);
  if (!end_drawing_.empty()) return end_drawing_;
  return ReportDot(released_ ? std::vector<WaitingLane>() : WaitingLanes());
}

}  // namespace cgraph::engine
