#include "compiler/schedule/waits/vector_clocks.h"

#include <algorithm>
#include <limits>

namespace cgraph::schedule {
namespace {

constexpr int64_t kNothing = std::numeric_limits<int64_t>::min();
constexpr uint32_t kNoJoint = ~uint32_t{0};

bool AllFlowsToAll(const graph::Collective& collective) {
  const CollectiveTraits& traits = TraitsOf(collective.kind);
  return traits.from != CollectiveTraits::kRoot && traits.to != CollectiveTraits::kRoot;
}

// Whether what `from` does in a collective flows into what `to` does: ranks.
bool FlowsTo(const graph::Collective& collective, size_t from, size_t to) {
  const CollectiveTraits& traits = TraitsOf(collective.kind);
  if (traits.from == CollectiveTraits::kRoot) return from == collective.root;
  return traits.to != CollectiveTraits::kRoot || to == collective.root;
}

}  // namespace

VectorClocks::VectorClocks(const graph::Graph& graph, const Schedule& schedule)
    : graph_(graph),
      schedule_(schedule),
      lanes_(schedule.lanes.size()),
      reach_(graph.inflight + schedule.LongestLag()),
      known_(schedule.units.size() * lanes_, kNothing) {
  for (const Lane& lane : schedule.lanes) sizes_.push_back(static_cast<int64_t>(lane.units.size()));
  FindJoints();
}

void VectorClocks::FindJoints() {
  joint_of_.assign(schedule_.units.size(), kNoJoint);
  uint32_t joints = 0;
  for (UnitId id : schedule_.units.Ids()) {
    const ScheduleUnit& unit = schedule_.units[id];
    if (unit.first_part != id) continue;
    const Step& step = schedule_.steps[unit.first];
    if (!AllFlowsToAll(*graph_.ops[step.op].collective)) continue;
    for (uint32_t rank = 0; rank < step.parts.size(); ++rank) joint_of_[id.index + rank] = joints;
    ++joints;
  }
  joint_known_.assign(joints * lanes_, kNothing);
}

void VectorClocks::LearnStart(std::vector<int64_t>& clock, UnitId from, int64_t rounds) const {
  LearnRow(clock, Row(from), rounds);
}

void VectorClocks::LearnRow(std::vector<int64_t>& clock, const int64_t* row, int64_t rounds) const {
  for (size_t lane = 0; lane < lanes_; ++lane) {
    if (row[lane] == kNothing) continue;
    const int64_t value = row[lane] - rounds * sizes_[lane];
    // What is older than any question is forgotten, so that settling ends.
    if (value >= -(reach_ + 1) * sizes_[lane]) clock[lane] = std::max(clock[lane], value);
  }
}

void VectorClocks::LearnDone(std::vector<int64_t>& clock, UnitId from, int64_t rounds) const {
  const ScheduleUnit& unit = schedule_.units[from];
  LearnStart(clock, from, rounds);
  if (unit.sender.valid()) LearnStart(clock, unit.sender, rounds);
  if (unit.first_part.valid()) LearnParts(clock, from, rounds);
  const size_t lane = unit.lane.index;
  clock[lane] = std::max(clock[lane], unit.index - rounds * sizes_[lane]);
}

// Of a collective: the starts of those from whom something flows here.
void VectorClocks::LearnParts(std::vector<int64_t>& clock, UnitId from, int64_t rounds) const {
  if (joint_of_[from.index] != kNoJoint) {
    LearnRow(clock, &joint_known_[joint_of_[from.index] * lanes_], rounds);
    return;
  }
  const uint32_t first = schedule_.units[from].first_part.index;
  const Step& step = schedule_.steps[schedule_.units[from].first];
  const graph::Collective& collective = *graph_.ops[step.op].collective;
  for (uint32_t rank = 0; rank < step.parts.size(); ++rank) {
    const UnitId other(first + rank);
    if (other == from || !FlowsTo(collective, rank, from.index - first)) continue;
    LearnStart(clock, other, rounds);
  }
}

void VectorClocks::Update(UnitId id) {
  const ScheduleUnit& unit = schedule_.units[id];
  const std::vector<UnitId>& lane = schedule_.lanes[unit.lane].units;
  scratch_.assign(lanes_, kNothing);
  if (unit.index > 0) {
    LearnDone(scratch_, lane[unit.index - 1], 0);
  } else {
    LearnDone(scratch_, lane.back(), 1);
  }
  for (const Wait& wait : unit.waits) LearnDone(scratch_, wait.unit, wait.lag);
  int64_t* row = Row(id);
  if (!std::equal(scratch_.begin(), scratch_.end(), row)) {
    std::copy(scratch_.begin(), scratch_.end(), row);
    changed_ = true;
    if (joint_of_[id.index] == kNoJoint) return;
    int64_t* joint = &joint_known_[joint_of_[id.index] * lanes_];
    for (size_t i = 0; i < lanes_; ++i) joint[i] = std::max(joint[i], row[i]);
  }
}

void VectorClocks::RunToFixpoint() {
  do {
    changed_ = false;
    for (UnitId unit : schedule_.units.Ids()) Update(unit);
  } while (changed_);
}

bool VectorClocks::Before(UnitId before, UnitId after, int64_t rounds) const {
  const ScheduleUnit& unit = schedule_.units[before];
  const std::optional<int64_t> latest = Latest(after, unit.lane, rounds);
  return latest && *latest >= unit.index;
}

std::optional<int64_t> VectorClocks::Latest(UnitId after, LaneId lane, int64_t rounds) const {
  const int64_t known = Row(after)[lane.index];
  if (known == kNothing) return std::nullopt;
  return known + rounds * sizes_[lane.index];
}

}  // namespace cgraph::schedule
