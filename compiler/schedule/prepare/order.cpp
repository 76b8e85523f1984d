// Order: the program's order of all steps, and with it what each lane runs.
//
// It is program order with everything else as early as it can be: inputs come first; transfers
// follow the call that made the value at once, extents before values, values in the order of their
// first consumers; outputs follow the values that they give out. A transfer is one step of this
// order, at both its lanes, and a collective at the lanes of all participants, so every lane meets
// its partners in the same order: that is why no wait can be cyclic, and why overlapping groups
// cannot block each other.
#include <algorithm>

#include "compiler/schedule/passes.h"

namespace cgraph::schedule {
namespace {

bool IsOp(const Step& step) { return step.kind == Step::kCall || step.kind == Step::kLoad; }

void SortSteps(Schedule& schedule) {
  std::vector<StepId> sorted;
  for (StepId id : schedule.steps.Ids()) sorted.push_back(id);
  std::stable_sort(sorted.begin(), sorted.end(), [&](StepId a, StepId b) {
    return schedule.steps[a].place < schedule.steps[b].place;
  });
  Table<StepId, Step> steps;
  for (StepId id : sorted) {
    Step& step = schedule.steps[id];
    step.program_order = static_cast<uint32_t>(steps.size());
    steps.Add(std::move(step));
  }
  schedule.steps = std::move(steps);
}

void AddUnit(Schedule& schedule, ScheduleUnit unit) {
  Lane& lane = schedule.lanes[unit.lane];
  unit.index = static_cast<uint32_t>(lane.units.size());
  lane.units.push_back(schedule.units.Add(std::move(unit)));
}

// Returns whether two ops next to each other are one unit: those of one call, or of two fused ones.
bool AreOne(const graph::Rules* rules, const Step& a, const Step& b) {
  if (!IsOp(a) || !IsOp(b)) return false;
  if (a.call == b.call) return true;
  return rules != nullptr && rules->calls[a.call.index].fused == b.call;
}

}  // namespace

void Order(Schedule& schedule) {
  SortSteps(schedule);
  MakeUnits(/*rules=*/nullptr, schedule);
}

void MakeUnits(const graph::Rules* rules, Schedule& schedule) {
  schedule.units = {};
  for (Lane& lane : schedule.lanes) lane.units.clear();
  for (size_t i = 0; i < schedule.steps.size();) {
    const StepId first(i);
    const Step& step = schedule.steps[first];
    uint32_t count = 1;
    while (i + count < schedule.steps.size() &&
           AreOne(rules, schedule.steps[StepId(i + count - 1)],
                  schedule.steps[StepId(i + count)])) {
      ++count;
    }
    ScheduleUnit unit{.lane = step.lane, .first = first, .count = count};
    if (step.kind == Step::kCollective) {
      unit.lane = schedule.groups[step.group].lanes[0];
      unit.first_part = UnitId(schedule.units.size());
    }
    AddUnit(schedule, unit);
    for (uint32_t rank = 1; rank < step.parts.size(); ++rank) {
      AddUnit(schedule, {.lane = schedule.groups[step.group].lanes[rank],
                         .first = first,
                         .first_part = UnitId(schedule.units.size() - rank)});
    }
    if (step.kind == Step::kTransfer) {
      const UnitId sender(schedule.units.size() - 1);
      AddUnit(schedule, {.lane = step.to_lane, .first = first, .sender = sender});
    }
    i += count;
  }
}

}  // namespace cgraph::schedule
