#include "compiler/schedule/dependencies.h"

#include <map>

#include "compiler/base/byte_intervals.h"
#include "compiler/schedule/accesses.h"

namespace cgraph::schedule {
namespace {

// Sweep: one buffer, swept in order. For every stretch of its bytes it knows the last writer and
// the readers since. A second pass over the same accesses finds what the next execution in this
// memory must follow.
class Sweep {
 public:
  Sweep(Dependencies& dependencies, uint32_t copies)
      : dependencies_(dependencies), copies_(copies) {}

  void Run(const std::vector<Access>& accesses) {
    for (const Access& access : accesses) Visit(access);
    if (copies_ == 0) return;
    turn_ = 1;
    for (const Access& access : accesses) Visit(access);
  }

 private:
  struct Visitor {
    UnitId unit;
    int turn;
  };
  struct Visited {
    std::vector<Visitor> writer;   // none or one
    std::vector<Visitor> readers;  // since
  };

  void Visit(const Access& access) {
    const Visitor visitor{access.unit, turn_};
    visited_.Update(access.begin, access.end, [&](Visited& bytes) {
      if (!access.write || bytes.readers.empty()) Follow(access.unit, bytes.writer);
      if (access.write) {
        Follow(access.unit, bytes.readers);
        bytes.writer = {visitor};
        bytes.readers.clear();
      } else if (bytes.readers.empty() || bytes.readers.back().unit != access.unit) {
        bytes.readers.push_back(visitor);
      }
    });
  }

  void Follow(UnitId unit, const std::vector<Visitor>& earlier) {
    for (const Visitor& visitor : earlier) {
      // One stretch after the other has the same visitors.
      std::vector<UnitId>& within = dependencies_.within[unit.index];
      if (visitor.turn != turn_) {
        dependencies_.across[unit.index].push_back({visitor.unit, copies_});
      } else if (turn_ == 0 && visitor.unit != unit &&
                 (within.empty() || within.back() != visitor.unit)) {
        within.push_back(visitor.unit);
      }
    }
  }

  Dependencies& dependencies_;
  const uint32_t copies_;
  int turn_ = 0;
  ByteIntervals<Visited> visited_;
};

// Adds the order of `x after y`: each unit of the later call waits for all units of the earlier
// one.
void AddCallOrder(const graph::Graph& graph, const Schedule& schedule, Dependencies& found) {
  std::vector<std::vector<UnitId>> units(graph.calls.size());
  for (UnitId id : schedule.units.Ids()) {
    const Step& step = schedule.FirstStep(id);
    const bool own = step.call.valid() && step.place.order == Step::ProgramPosition::kOps;
    if (own) units[step.call.index].push_back(id);
  }
  for (graph::CallId call : graph.calls.Ids()) {
    for (graph::CallId before : graph.calls[call].after) {
      for (UnitId later : units[call.index]) {
        std::vector<UnitId>& needs = found.within[later.index];
        needs.insert(needs.end(), units[before.index].begin(), units[before.index].end());
      }
    }
  }
}

// Adds the order of effects: what the world sees of one device's ops, it sees in program order, and
// one execution after the other.
void AddEffectOrder(const graph::Graph& graph, const Schedule& schedule, Dependencies& found) {
  std::vector<UnitId> first(schedule.lanes.size()), last(first);
  for (UnitId id : schedule.ExecutionOrder()) {
    const ScheduleUnit& unit = schedule.units[id];
    for (uint32_t i = 0; i < unit.count; ++i) {
      const Step& step = schedule.steps[StepId(unit.first.index + i)];
      if (step.kind != Step::kCall || !graph.ops[step.op].effect) continue;
      if (graph.ops[step.op].exchangeable) continue;
      UnitId& before = last[unit.lane.index];
      if (before.valid() && before != id) found.within[id.index].push_back(before);
      if (!before.valid()) first[unit.lane.index] = id;
      before = id;
    }
  }
  for (size_t lane = 0; lane < first.size(); ++lane) {
    if (first[lane] != last[lane]) found.across[first[lane].index].push_back({last[lane], 1});
  }
}

// Adds barriers: the units before a barrier on a device are done before its part of it starts, and
// the units after it start when the part is done, whatever lane they are on. The caller's inputs
// and outputs are no work of the graph: to hold them back would hold back the next execution.
void AddBarriers(const graph::Graph& graph, const Schedule& schedule, Dependencies& found) {
  struct Since {
    UnitId barrier;             // the last one
    std::vector<UnitId> units;  // after it
  };
  std::map<graph::DeviceId, Since> since;
  for (UnitId id : schedule.ExecutionOrder()) {
    const Lane& lane = schedule.lanes[schedule.units[id].lane];
    if (IsHost(lane.kind)) continue;
    Since& here = since[lane.device];
    std::vector<UnitId>& needs = found.within[id.index];
    if (here.barrier.valid()) needs.push_back(here.barrier);
    const Step& step = schedule.FirstStep(id);
    if (step.kind == Step::kCollective &&
        graph.ops[step.op].collective->kind == CollectiveKind::kBarrier) {
      needs.insert(needs.end(), here.units.begin(), here.units.end());
      here = {.barrier = id};
    } else {
      here.units.push_back(id);
    }
  }
}

}  // namespace

Dependencies FindDependencies(const graph::Graph& graph, const Schedule& schedule) {
  Dependencies found;
  found.within.resize(schedule.units.size());
  found.across.resize(schedule.units.size());
  const std::vector<std::vector<Access>> accesses = FindAccesses(graph, schedule);
  for (BufferId buffer : schedule.buffers.Ids()) {
    const auto copies = static_cast<uint32_t>(Copies(schedule.buffers[buffer].space, graph));
    Sweep(found, copies).Run(accesses[buffer.index]);
  }
  AddCallOrder(graph, schedule, found);
  AddEffectOrder(graph, schedule, found);
  AddBarriers(graph, schedule, found);
  return found;
}

}  // namespace cgraph::schedule
