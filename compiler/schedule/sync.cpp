// Synchronise: the waits between lanes.
//
// Lanes and transfers keep most dependencies by themselves; a wait is added for what is left,
// latest first, so that what one wait implies through others needs none of its own.
#include <algorithm>

#include "compiler/schedule/clocks.h"
#include "compiler/schedule/dependencies.h"
#include "compiler/schedule/fit/reuse.h"
#include "compiler/schedule/passes.h"

namespace cgraph::schedule {
namespace {

// Position in the endless sequence of all units, rounds counted from the waiting unit's.
int64_t Moment(const Schedule& schedule, const Wait& wait) {
  return wait.unit.index - int64_t{wait.lag} * static_cast<int64_t>(schedule.units.size());
}

// Adds to `unit` the waits that the rest does not imply.
void AddWaits(Schedule& schedule, Clocks& clocks, UnitId unit, std::vector<Wait> needs) {
  clocks.Update(unit);
  std::sort(needs.begin(), needs.end(), [&](const Wait& a, const Wait& b) {
    return Moment(schedule, a) > Moment(schedule, b);
  });
  for (const Wait& need : needs) {
    if (clocks.Before(need.unit, unit, need.lag)) continue;
    schedule.units[unit].waits.push_back(need);
    schedule.units[need.unit].signals = true;
    clocks.Update(unit);
  }
}

}  // namespace

void Synchronise(const graph::Graph& graph, const std::vector<bool>& tight, Schedule& schedule) {
  Dependencies dependencies = FindDependencies(graph, schedule);
  AddReuse(graph, schedule, tight, dependencies);
  Clocks clocks(graph, schedule, graph.inflight);
  const auto other_lane = [&](UnitId a, UnitId b) {
    return schedule.units[a].lane != schedule.units[b].lane;
  };
  for (UnitId unit : schedule.units.Ids()) {
    std::vector<Wait> needs;
    for (UnitId before : dependencies.within[unit.index]) {
      if (other_lane(before, unit)) needs.push_back({before, 0});
    }
    AddWaits(schedule, clocks, unit, std::move(needs));
  }
  // Only now is everything known that may save a wait for an earlier execution.
  clocks.Settle();
  for (UnitId unit : schedule.units.Ids()) {
    std::vector<Wait> needs;
    for (const Wait& need : dependencies.across[unit.index]) {
      if (other_lane(need.unit, unit)) needs.push_back(need);
    }
    AddWaits(schedule, clocks, unit, std::move(needs));
  }
}

}  // namespace cgraph::schedule
