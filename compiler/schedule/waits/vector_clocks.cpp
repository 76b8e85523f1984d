#include "compiler/schedule/waits/vector_clocks.h"

#include <algorithm>
#include <utility>

namespace cgraph::schedule {
namespace {

constexpr uint32_t kNoJoint = ~uint32_t{0};

bool AllFlowsToAll(const graph::Collective& collective) {
  const CollectiveTraits& traits = TraitsOf(collective.kind);
  return traits.from != CollectiveTraits::kRoot && traits.to != CollectiveTraits::kRoot;
}

int64_t LongestLane(const Schedule& schedule) {
  size_t longest = 1;
  for (const Lane& lane : schedule.lanes) longest = std::max(longest, lane.units.size());
  return static_cast<int64_t>(longest);
}

}  // namespace

// Questions go so many rounds back as executions are in flight and tasks lag; what is older than
// any of them is forgotten, so that settling ends.
VectorClocks::VectorClocks(const graph::Graph& graph, const Schedule& schedule)
    : graph_(graph),
      schedule_(schedule),
      stride_(LongestLane(schedule)),
      clocks_(schedule.lanes.size(), stride_,
              static_cast<uint32_t>(graph.inflight + schedule.LongestLag() + 1)),
      known_(schedule.units.size()),
      updated_(schedule.units.size(), 0) {
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
  joint_known_.resize(joints);
}

void VectorClocks::Learn(UnitId unit, const Known& from, uint32_t rounds) {
  if (from.changed < updated_[unit.index]) return;
  Known& to = known_[unit.index];
  if (clocks_.Merge(to.clock, from.clock, rounds)) Changed(to);
}

void VectorClocks::LearnStart(UnitId unit, UnitId from, uint32_t rounds) {
  Learn(unit, known_[from.index], rounds);
}

void VectorClocks::LearnDone(UnitId unit, UnitId from, uint32_t rounds) {
  const ScheduleUnit& before = schedule_.units[from];
  LearnStart(unit, from, rounds);
  if (before.sender.valid()) LearnStart(unit, before.sender, rounds);
  if (before.first_part.valid()) LearnParts(unit, from, rounds);
  Known& to = known_[unit.index];
  const int64_t moment = before.index - rounds * stride_;
  if (clocks_.Learn(to.clock, before.lane.index, moment)) Changed(to);
}

// Learns from the parts of a collective: the starts of those from which something flows here.
void VectorClocks::LearnParts(UnitId unit, UnitId from, uint32_t rounds) {
  if (joint_of_[from.index] != kNoJoint) {
    Learn(unit, joint_known_[joint_of_[from.index]], rounds);
    return;
  }
  const uint32_t first = schedule_.units[from].first_part.index;
  const Step& step = schedule_.steps[schedule_.units[from].first];
  const graph::Collective& collective = *graph_.ops[step.op].collective;
  const UnitId root(first + collective.root);
  if (TraitsOf(collective.kind).from == CollectiveTraits::kRoot) {
    LearnStart(unit, root, rounds);
    return;
  }
  if (from != root) return;
  for (uint32_t rank = 0; rank < step.parts.size(); ++rank) {
    LearnStart(unit, UnitId(first + rank), rounds);
  }
}

void VectorClocks::Update(UnitId id) {
  const ScheduleUnit& unit = schedule_.units[id];
  const std::vector<UnitId>& lane = schedule_.lanes[unit.lane].units;
  const uint64_t begin = ++now_;
  if (unit.index > 0) {
    LearnDone(id, lane[unit.index - 1], 0);
  } else {
    LearnDone(id, lane.back(), 1);
  }
  for (const Wait& wait : unit.waits) LearnDone(id, wait.unit, wait.lag);
  updated_[id.index] = begin;
  TellJoint(id);
}

void VectorClocks::LearnWait(UnitId id, const Wait& wait) {
  // The unit has learned nothing through this wait yet.
  const uint64_t updated = std::exchange(updated_[id.index], 0);
  LearnDone(id, wait.unit, wait.lag);
  updated_[id.index] = updated;
  TellJoint(id);
}

void VectorClocks::TellJoint(UnitId id) {
  if (joint_of_[id.index] == kNoJoint) return;
  Known& joint = joint_known_[joint_of_[id.index]];
  if (clocks_.Merge(joint.clock, known_[id.index].clock, 0)) Changed(joint);
}

void VectorClocks::RunToFixpoint() {
  uint64_t before = 0;
  do {
    before = changes_;
    for (UnitId unit : schedule_.units.Ids()) Update(unit);
  } while (changes_ != before);
}

bool VectorClocks::Before(UnitId before, UnitId after, int64_t rounds) const {
  const ScheduleUnit& unit = schedule_.units[before];
  const std::optional<int64_t> latest = Latest(after, unit.lane, rounds);
  return latest && *latest >= unit.index;
}

std::optional<int64_t> VectorClocks::Latest(UnitId after, LaneId lane, int64_t rounds) const {
  const int64_t moment = clocks_.At(known_[after.index].clock, lane.index);
  if (moment == SharedClocks::kNothing) return std::nullopt;
  const int64_t back = moment >= 0 ? 0 : (-moment + stride_ - 1) / stride_;
  const auto size = static_cast<int64_t>(schedule_.lanes[lane].units.size());
  return moment + back * stride_ + (rounds - back) * size;
}

}  // namespace cgraph::schedule
