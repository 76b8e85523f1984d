// Synchronise: the waits between lanes.
//
// Two accesses to the same bytes, one of them a write, need an order: within an execution the
// program's, and between executions that share a copy of the memory the later execution's access
// after the earlier one's. Lanes and transfers give most of these; a wait is added for what is
// left, latest first, so that what one wait implies through others needs none of its own.
#include <algorithm>

#include "compiler/schedule/accesses.h"
#include "compiler/schedule/clocks.h"
#include "compiler/schedule/passes.h"

namespace cgraph::schedule {
namespace {

// By unit: those that must be done before it, of the same execution or of `lag` executions before.
using Needs = std::vector<std::vector<Wait>>;

struct AllNeeds {
  Needs within, across;
};

bool OneLane(const Schedule& schedule, const std::vector<Access>& accesses) {
  return std::all_of(accesses.begin(), accesses.end(), [&](const Access& access) {
    return schedule.units[access.unit].lane == schedule.units[accesses[0].unit].lane;
  });
}

// `x after y`: what the later call does itself waits for all that the earlier one did.
void AddCallOrder(const graph::Graph& graph, const Schedule& schedule, Needs& within) {
  std::vector<std::vector<UnitId>> units(graph.calls.size());
  for (UnitId id : schedule.units.Ids()) {
    const Step& step = schedule.steps[schedule.units[id].first];
    const bool own = step.call.valid() && step.place.order == Step::Place::kOps;
    if (own) units[step.call.index].push_back(id);
  }
  for (graph::CallId call : graph.calls.Ids()) {
    for (graph::CallId before : graph.calls[call].after) {
      for (UnitId later : units[call.index]) {
        for (UnitId earlier : units[before.index]) {
          const bool in_order = schedule.units[earlier].lane == schedule.units[later].lane;
          if (!in_order) within[later.index].push_back({earlier, 0});
        }
      }
    }
  }
}

AllNeeds FindNeeds(const graph::Graph& graph, const Schedule& schedule) {
  AllNeeds needs{Needs(schedule.units.size()), Needs(schedule.units.size())};
  const std::vector<std::vector<Access>> all = FindAccesses(graph, schedule);
  for (BufferId buffer : schedule.buffers.Ids()) {
    const std::vector<Access>& accesses = all[buffer.index];
    if (OneLane(schedule, accesses)) continue;
    const auto copies = static_cast<uint32_t>(Copies(schedule.buffers[buffer].space, graph));
    for (size_t j = 0; j < accesses.size(); ++j) {
      for (size_t i = 0; i < j; ++i) {
        const Access &first = accesses[i], &second = accesses[j];
        const bool conflict = (first.write || second.write) && first.begin < second.end &&
                              second.begin < first.end;
        const bool in_order =
            schedule.units[first.unit].lane == schedule.units[second.unit].lane;
        if (!conflict || in_order) continue;
        needs.within[second.unit.index].push_back({first.unit, 0});
        if (copies > 0) needs.across[first.unit.index].push_back({second.unit, copies});
      }
    }
  }
  AddCallOrder(graph, schedule, needs.within);
  return needs;
}

// What stands before a barrier on a device is done before its part of it starts, and what stands
// after it starts when the part is done, whatever lane it is on. The caller's takes and gives are
// no work of the graph: to hold them back would hold back the next execution.
void AddBarriers(const graph::Graph& graph, const Schedule& schedule, Needs& needs) {
  for (UnitId id : schedule.units.Ids()) {
    const Unit& unit = schedule.units[id];
    const Step& step = schedule.steps[unit.first];
    if (step.kind != Step::kCollective ||
        graph.ops[step.op].collective->kind != CollectiveKind::kBarrier) {
      continue;
    }
    for (const Lane& lane : schedule.lanes) {
      const bool host = lane.kind == LaneKind::kTake || lane.kind == LaneKind::kGive;
      if (host || lane.device != schedule.lanes[unit.lane].device) continue;
      const auto after = std::upper_bound(lane.units.begin(), lane.units.end(), id);
      if (after != lane.units.end()) needs[after->index].push_back({id, 0});
      const auto before = std::lower_bound(lane.units.begin(), lane.units.end(), id);
      if (before != lane.units.begin()) needs[id.index].push_back({*std::prev(before), 0});
    }
  }
}

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

void Synchronise(const graph::Graph& graph, Schedule& schedule) {
  AllNeeds needs = FindNeeds(graph, schedule);
  AddBarriers(graph, schedule, needs.within);
  Clocks clocks(graph, schedule, graph.inflight);
  for (UnitId unit : schedule.units.Ids()) {
    AddWaits(schedule, clocks, unit, needs.within[unit.index]);
  }
  // Only now is everything known that may save a wait for an earlier execution.
  clocks.Settle();
  for (UnitId unit : schedule.units.Ids()) {
    AddWaits(schedule, clocks, unit, needs.across[unit.index]);
  }
}

}  // namespace cgraph::schedule
