// Synchronise: the waits between lanes.
//
// Lanes and transfers keep most dependencies by themselves; a wait is added for what is left,
// latest first, so that what one wait implies through others needs none of its own.
#include <algorithm>
#include <optional>

#include "compiler/base/check.h"
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
  Clocks clocks(graph, schedule);
  const auto add_all = [&](const std::vector<std::vector<Wait>>& needs) {
    for (UnitId unit : schedule.units.Ids()) AddWaits(schedule, clocks, unit, needs[unit.index]);
  };
  // In rounds, by unit.
  std::vector<std::vector<Wait>> now(schedule.units.size()), before(now), again(now);
  // Lanes keep what is of one lane.
  const auto rounds = [&](UnitId from, UnitId to, uint32_t executions) -> std::optional<uint32_t> {
    if (schedule.units[from].lane == schedule.units[to].lane) return std::nullopt;
    const int64_t between = schedule.Rounds(from, to, executions);
    CGRAPH_CHECK(between >= 0, "schedule", "a wait for a later round");
    return static_cast<uint32_t>(between);
  };
  for (UnitId unit : schedule.units.Ids()) {
    for (UnitId from : dependencies.within[unit.index]) {
      if (const auto lag = rounds(from, unit, 0)) {
        (*lag == 0 ? now : before)[unit.index].push_back({from, *lag});
      }
    }
    for (const Wait& need : dependencies.across[unit.index]) {
      if (const auto lag = rounds(need.unit, unit, need.lag)) {
        again[unit.index].push_back({need.unit, *lag});
      }
    }
  }
  add_all(now);
  // Only now is everything known that may save a wait for an earlier round; and what follows from
  // data may save one for memory.
  clocks.Settle();
  add_all(before);
  clocks.Settle();
  add_all(again);
}

}  // namespace cgraph::schedule
