// PlanMemory: offsets.
//
// Slot buffers are placed in the order of their first access, each at the lowest offset where it
// meets only buffers that are done with before it begins, in this execution and in the one that
// uses the same copy next. What is not a slot lies side by side: inputs, outputs and constants live
// as long as the execution, or longer, and state as its actor's layout says.
#include <algorithm>
#include <map>
#include <tuple>

#include "compiler/schedule/accesses.h"
#include "compiler/schedule/clocks.h"
#include "compiler/schedule/passes.h"

namespace cgraph::schedule {
namespace {

constexpr int64_t kAlignment = 64;  // a cache line, and what vector loads like

int64_t Aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// A buffer's first and last access in one lane.
struct Span {
  LaneId lane;
  Access first, last;
};
using Lifetime = std::vector<Span>;

Lifetime LifetimeOf(const Schedule& schedule, const std::vector<Access>& accesses) {
  Lifetime lifetime;
  for (const Access& access : accesses) {
    const LaneId lane = schedule.units[access.unit].lane;
    const auto span = std::find_if(lifetime.begin(), lifetime.end(),
                                   [&](const Span& s) { return s.lane == lane; });
    if (span == lifetime.end()) {
      lifetime.push_back({lane, access, access});
    } else {
      span->last = access;
    }
  }
  return lifetime;
}

// Whether all of `a` is before all of `b`, and all of `b` before `a` of the next execution on the
// same copy.
bool Reusable(const Clocks& clocks, const Lifetime& a, const Lifetime& b, int64_t copies) {
  for (const Span& earlier : a) {
    for (const Span& later : b) {
      if (earlier.lane == later.lane) {
        if (earlier.last.step >= later.first.step) return false;
      } else if (!clocks.Before(earlier.last.unit, later.first.unit, 0) ||
                 !clocks.Before(later.last.unit, earlier.first.unit, copies)) {
        return false;
      }
    }
  }
  return true;
}

// The lowest offset for `bytes` that none of `taken` (pairs of begin and end) covers.
int64_t LowestGap(std::vector<std::pair<int64_t, int64_t>> taken, int64_t bytes) {
  std::sort(taken.begin(), taken.end());
  int64_t offset = 0;
  for (const auto& [begin, end] : taken) {
    if (begin - offset >= bytes) break;
    offset = std::max(offset, end);
  }
  return offset;
}

void PlaceSlots(Schedule& schedule, const graph::Graph& graph) {
  const std::vector<std::vector<Access>> accesses = FindAccesses(graph, schedule);
  const int64_t copies = Copies(Space::kSlot, graph);
  Clocks clocks(schedule, copies);
  clocks.Settle();

  std::vector<BufferId> order;
  for (BufferId id : schedule.buffers.Ids()) {
    if (schedule.buffers[id].space == Space::kSlot && !accesses[id.index].empty()) {
      order.push_back(id);
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](BufferId a, BufferId b) {
    return accesses[a.index][0].step < accesses[b.index][0].step;
  });
  struct Placed {
    Lifetime lifetime;
    int64_t begin, end;
  };
  std::map<graph::DeviceId, std::vector<Placed>> arenas;
  for (BufferId id : order) {
    Buffer& buffer = schedule.buffers[id];
    std::vector<Placed>& placed = arenas[buffer.device];
    const Lifetime lifetime = LifetimeOf(schedule, accesses[id.index]);
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (const Placed& other : placed) {
      if (!Reusable(clocks, other.lifetime, lifetime, copies)) {
        taken.push_back({other.begin, other.end});
      }
    }
    const int64_t bytes = Aligned(buffer.bytes);
    buffer.offset = LowestGap(std::move(taken), bytes);
    placed.push_back({lifetime, buffer.offset, buffer.offset + bytes});
  }
}

void PlaceOthers(const graph::Module& module, Schedule& schedule) {
  std::map<std::tuple<Space, graph::DeviceId>, int64_t> ends;
  for (Buffer& buffer : schedule.buffers) {
    if (buffer.space == Space::kSlot) continue;
    if (buffer.space == Space::kState) {
      buffer.offset = LayOutState(module, module.states[buffer.state].instance).Offset(buffer.state);
      continue;
    }
    int64_t& end = ends[{buffer.space, buffer.device}];
    buffer.offset = end;
    end += Aligned(buffer.bytes);
  }
}

}  // namespace

int64_t StateLayout::Offset(graph::StateId state) const {
  const auto found = std::find(states.begin(), states.end(), state);
  return offsets[found - states.begin()];
}

StateLayout LayOutState(const graph::Module& module, graph::InstanceId instance) {
  StateLayout layout;
  for (graph::StateId state : module.instances[instance].states) {
    layout.states.push_back(state);
    layout.offsets.push_back(layout.bytes);
    layout.bytes += Aligned(module.states[state].type.bytes());
  }
  return layout;
}

void PlanMemory(const graph::Module& module, const graph::Graph& graph, Schedule& schedule) {
  PlaceSlots(schedule, graph);
  PlaceOthers(module, schedule);
}

}  // namespace cgraph::schedule
