#include "compiler/schedule/dependencies.h"

#include <algorithm>
#include <map>

#include "compiler/schedule/accesses.h"

namespace cgraph::schedule {
namespace {

// One buffer, swept in order: of every stretch of its bytes, who wrote it last and who has read it
// since. A second turn over the same accesses tells what the next execution in this memory follows.
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
  struct Stretch {
    int64_t begin, end;
    std::vector<Visitor> writer;   // none or one
    std::vector<Visitor> readers;  // since
  };

  void Visit(const Access& access) {
    if (access.begin == access.end) return;
    const size_t first = SplitAt(access.begin);
    const size_t last = SplitAt(access.end);
    const Visitor visitor{access.unit, turn_};
    for (size_t i = first; i < last; ++i) {
      Stretch& stretch = stretches_[i];
      if (!access.write || stretch.readers.empty()) Follow(access.unit, stretch.writer);
      if (access.write) {
        Follow(access.unit, stretch.readers);
        stretch.writer = {visitor};
        stretch.readers.clear();
      } else if (stretch.readers.empty() || stretch.readers.back().unit != access.unit) {
        stretch.readers.push_back(visitor);
      }
    }
  }

  // The index of the stretch that begins at `at`, which may be the end of all.
  size_t SplitAt(int64_t at) {
    if (stretches_.empty()) stretches_.push_back({0, at, {}, {}});
    if (stretches_.back().end < at) stretches_.push_back({stretches_.back().end, at, {}, {}});
    const auto next = std::partition_point(stretches_.begin(), stretches_.end(),
                                           [at](const Stretch& s) { return s.end <= at; });
    const size_t index = next - stretches_.begin();
    if (next == stretches_.end() || next->begin == at) return index;
    Stretch left = *next;
    left.end = next->begin = at;
    stretches_.insert(next, std::move(left));
    return index + 1;
  }

  void Follow(UnitId unit, const std::vector<Visitor>& earlier) {
    for (const Visitor& visitor : earlier) {
      if (visitor.turn != turn_) {
        dependencies_.across[unit.index].push_back({visitor.unit, copies_});
      } else if (turn_ == 0 && visitor.unit != unit) {
        dependencies_.within[unit.index].push_back(visitor.unit);
      }
    }
  }

  Dependencies& dependencies_;
  const uint32_t copies_;
  int turn_ = 0;
  std::vector<Stretch> stretches_;  // without a gap, from 0
};

// `x after y`: what the later call does itself waits for all that the earlier one did.
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

// What the world sees of one device's ops, it sees in the order of the program.
// One execution after the other, too.
void AddEffectOrder(const graph::Graph& graph, const Schedule& schedule, Dependencies& found) {
  std::vector<UnitId> first(schedule.lanes.size()), last(first);
  for (UnitId id : schedule.ExecutionOrder()) {
    const ScheduleUnit& unit = schedule.units[id];
    for (uint32_t i = 0; i < unit.count; ++i) {
      const Step& step = schedule.steps[StepId(unit.first.index + i)];
      if (step.kind != Step::kCall || !graph.ops[step.op].effect) continue;
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

// What stands before a barrier on a device is done before its part of it starts, and what stands
// after it starts when the part is done, whatever lane it is on. The caller's takes and gives are
// no work of the graph: to hold them back would hold back the next execution.
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
