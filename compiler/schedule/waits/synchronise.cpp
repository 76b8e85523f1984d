// Synchronise: adds the waits between lanes.
//
// Lanes and transfers keep most dependencies by themselves. A wait is added for each of the others,
// latest first, so that a dependency which an earlier wait implies through others needs none of its
// own.
#include <algorithm>

#include "compiler/base/check.h"
#include "compiler/schedule/dependencies.h"
#include "compiler/schedule/passes.h"
#include "compiler/schedule/waits/vector_clocks.h"

namespace cgraph::schedule {
namespace {

// Position in the endless sequence of all units, rounds counted from the waiting unit's.
int64_t Moment(const Schedule& schedule, const Wait& wait) {
  return wait.unit.index - int64_t{wait.lag} * static_cast<int64_t>(schedule.units.size());
}

// Adds to `unit` the waits that the others do not imply.
void AddWaits(Schedule& schedule, VectorClocks& clocks, UnitId unit, std::vector<Wait> needs) {
  clocks.Update(unit);
  std::sort(needs.begin(), needs.end(), [&](const Wait& a, const Wait& b) {
    return Moment(schedule, a) > Moment(schedule, b);
  });
  for (const Wait& need : needs) {
    if (clocks.Before(need.unit, unit, need.lag)) continue;
    schedule.units[unit].waits.push_back(need);
    schedule.units[need.unit].signals = true;
    clocks.LearnWait(unit, need);
  }
}

}  // namespace

void Synchronise(const graph::Graph& graph, const std::vector<bool>& tight, Schedule& schedule) {
  Dependencies dependencies = FindDependencies(graph, schedule);
  AddReuse(graph, schedule, tight, dependencies);
  VectorClocks clocks(graph, schedule);
  // Waits are added between lanes, in rounds; a lane keeps the order of its own units.
  const auto add = [&](UnitId from, UnitId to, uint32_t executions, std::vector<Wait>& needs) {
    if (schedule.units[from].lane == schedule.units[to].lane) return;
    const int64_t rounds = schedule.Rounds(from, to, executions);
    CGRAPH_CHECK(rounds >= 0, "schedule", "a wait for a later round");
    needs.push_back({from, static_cast<uint32_t>(rounds)});
  };
  const auto add_within = [&](uint32_t lag) {
    for (UnitId unit : schedule.units.Ids()) {
      std::vector<Wait> needs;
      for (UnitId from : dependencies.within[unit.index]) add(from, unit, 0, needs);
      std::erase_if(needs, [&](const Wait& need) { return need.lag != lag; });
      AddWaits(schedule, clocks, unit, std::move(needs));
    }
  };
  // Lags are taken in order: only when it is settled what the later waits imply is everything known
  // that may make an earlier one superfluous; and a wait for data may make one for memory
  // superfluous.
  for (uint32_t lag = 0; lag <= schedule.LongestLag(); ++lag) {
    add_within(lag);
    clocks.RunToFixpoint();
  }
  for (UnitId unit : schedule.units.Ids()) {
    std::vector<Wait> needs;
    for (const Wait& need : dependencies.across[unit.index]) {
      add(need.unit, unit, need.lag, needs);
    }
    AddWaits(schedule, clocks, unit, std::move(needs));
  }
}

}  // namespace cgraph::schedule
