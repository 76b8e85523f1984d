#include "compiler/schedule/dependencies.h"

#include <algorithm>
#include <map>

#include "compiler/schedule/accesses.h"

namespace cgraph::schedule {
namespace {

// Users: the units that touch the slots of one device.
struct Users {
  std::map<LaneId, std::vector<UnitId>> lanes;  // in their order
  std::vector<UnitId> makers;                   // units that first write into a buffer
};

class Reuse {
 public:
  Reuse(const graph::Graph& graph, const Schedule& schedule, Dependencies& dependencies)
      : graph_(graph), schedule_(schedule), dependencies_(dependencies) {}

  void Add(Users& users) {
    for (auto& [lane, units] : users.lanes) {
      std::sort(units.begin(), units.end());
      units.erase(std::unique(units.begin(), units.end()), units.end());
    }
    for (UnitId maker : users.makers) {
      for (const auto& [lane, units] : users.lanes) {
        const LaneId own = schedule_.units[maker].lane;
        // A wait for an output, or in an input, would hold back the next execution.
        const bool waits = lane != own && !IsHost(schedule_.lanes[lane].kind) &&
                           !IsHost(schedule_.lanes[own].kind);
        if (waits) AddEnded(maker, units);
      }
    }
    const auto copies = static_cast<uint32_t>(Copies(Space::kSlot, graph_));
    for (const auto& [lane, units] : users.lanes) {
      for (const auto& [other, others] : users.lanes) {
        if (lane == other) continue;
        dependencies_.across[units.front().index].push_back({others.back(), copies});
      }
    }
  }

 private:
  // Adds the last unit of a lane that has ended when `maker` starts. A lane's units end one after
  // the other.
  void AddEnded(UnitId maker, const std::vector<UnitId>& units) {
    const uint64_t start = schedule_.FirstStep(maker).start_ps;
    auto ended = std::partition_point(units.begin(), units.end(),
                                      [&](UnitId unit) { return EndOf(unit) <= start; });
    while (ended != units.begin()) {
      const UnitId unit = *--ended;
      if (unit < maker && schedule_.units[unit].first != schedule_.units[maker].first) {
        dependencies_.within[maker.index].push_back(unit);
        return;
      }
    }
  }

  uint64_t EndOf(UnitId unit) const {
    return schedule_.FirstStep(unit).start_ps + schedule_.ExpectedPs(unit);
  }

  const graph::Graph& graph_;
  const Schedule& schedule_;
  Dependencies& dependencies_;
};

}  // namespace

void AddReuse(const graph::Graph& graph, const Schedule& schedule, const std::vector<bool>& tight,
              Dependencies& dependencies) {
  if (std::find(tight.begin(), tight.end(), true) == tight.end()) return;
  std::map<graph::DeviceId, Users> devices;
  const std::vector<std::vector<Access>> accesses = FindAccesses(graph, schedule);
  for (BufferId id : schedule.buffers.Ids()) {
    const Buffer& buffer = schedule.buffers[id];
    const std::vector<Access>& all = accesses[id.index];
    if (buffer.space != Space::kSlot || !tight[buffer.device.index] || all.empty()) continue;
    Users& users = devices[buffer.device];
    users.makers.push_back(all.front().unit);
    for (const Access& access : all) {
      users.lanes[schedule.units[access.unit].lane].push_back(access.unit);
    }
  }
  Reuse reuse(graph, schedule, dependencies);
  for (auto& [device, users] : devices) reuse.Add(users);
}

}  // namespace cgraph::schedule
