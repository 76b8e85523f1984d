#include "runtime/engine/report/reporter.h"

#include <algorithm>
#include <utility>

#include "runtime/base/wait_point.h"

namespace cgraph::engine {

ReportSource Reporter::Source() const {
  return {*loaded_.plan,       loaded_.graphs,    workers_.work_queues, loaded_.queue_map,
          loaded_.placement,   positions_,        loaded_.apart};
}

std::vector<WaitingLane> Reporter::Lanes() const {
  std::vector<WaitingLane> lanes;
  for (CollectedLane& collected : CollectLanes(Source())) {
    SetRank(collected.work_queue, collected.lane);
    lanes.push_back(std::move(collected.lane));
  }
  return lanes;
}

void Reporter::SetRank(uint32_t work_queue, WaitingLane& lane) const {
  if (!loaded_.several_ranks()) return;
  lane.rank = loaded_.RankOfWorkQueue(work_queue);
  lane.process = ranks_.TextOf(lane.rank);
  lane.halted = ranks_.IsHalted(lane.rank);
}

std::string Reporter::Describe(const std::vector<Position>& positions, uint32_t work_queue) const {
  std::string text;
  const std::vector<WaitingLane> lanes = LanesAt(Source(), work_queue, positions);
  for (uint32_t i = 0; i < lanes.size(); ++i) text += LinesOf(lanes, std::vector<uint32_t>{i});
  return text;
}

std::string Reporter::TextOf(const std::vector<WaitingLane>& lanes) const {
  std::string report = ReportText(lanes, ranks_.HaltedText());
  if (report.empty()) return "no lane has work left";
  report.pop_back();
  return report;
}

std::string Reporter::Text() const {
  Stretch(WaitPoint::kEndReport);
  std::lock_guard lock(workers_.closing);
  if (released_ && !Omits(WaitPoint::kEndReport)) return "the engine was torn down";
  return TextOf(Lanes());
}

std::string Reporter::Dot() const {
  std::lock_guard lock(workers_.closing);
  if (!end_drawing_.empty()) return end_drawing_;
  return ReportDot(released_ ? std::vector<WaitingLane>() : Lanes());
}

std::string Reporter::TextOfEnd() {
  std::lock_guard lock(workers_.closing);
  const std::vector<WaitingLane> lanes = Lanes();
  end_drawing_ = ReportDot(lanes);
  return TextOf(lanes);
}

std::string Reporter::Doing(uint32_t rank) const {
  std::string doing;
  std::lock_guard lock(workers_.closing);
  std::vector<WaitingLane> lanes;
  if (!released_) lanes = Lanes();
  for (uint32_t lane = 0; lane < lanes.size(); ++lane) {
    if (lanes[lane].rank != rank || lanes[lane].state == WaitingLane::State::kNotBegun) continue;
    lanes[lane].process.clear();  // is said before
    doing += "\n" + LinesOf(lanes, std::vector<uint32_t>{lane});
    doing.pop_back();
  }
  return doing;
}

}  // namespace cgraph::engine
