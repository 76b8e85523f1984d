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

// Whether all of `a` is before all of `b` of the execution `distance` later.
bool AllBefore(const Clocks& clocks, const Lifetime& a, const Lifetime& b, int64_t distance) {
  for (const Span& earlier : a) {
    for (const Span& later : b) {
      const bool before =
          earlier.lane == later.lane
              ? distance > 0 || earlier.last.step < later.first.step
              : clocks.Before(earlier.last.unit, later.first.unit, distance);
      if (!before) return false;
    }
  }
  return true;
}

// The slot memory of one device. Whoever used some bytes stands in one order, so a new buffer needs
// to look at two of them only: it must come after the last, and be done before the first begins
// again in the execution that uses the same copy next.
class SlotArena {
 public:
  SlotArena(const Clocks& clocks, int64_t copies) : clocks_(clocks), copies_(copies) {}

  // The lowest offset that will do. `lifetime` must outlive the arena.
  int64_t Place(const Lifetime& lifetime, int64_t bytes) {
    if (bytes == 0) return 0;
    int64_t offset = 0;
    size_t first = 0;  // of the regions from `offset` on
    for (size_t i = 0; i < regions_.size() && regions_[i].begin < offset + bytes; ++i) {
      if (Free(regions_[i], lifetime)) continue;
      offset = regions_[i].end;
      first = i + 1;
    }
    Occupy(first, offset, offset + bytes, lifetime);
    return offset;
  }

 private:
  struct Region {
    int64_t begin, end;
    const Lifetime *first, *last;
  };

  bool Free(const Region& region, const Lifetime& lifetime) const {
    return AllBefore(clocks_, *region.last, lifetime, 0) &&
           AllBefore(clocks_, lifetime, *region.first, copies_);
  }

  // Regions follow each other without a gap, from 0.
  void Occupy(size_t first, int64_t begin, int64_t end, const Lifetime& lifetime) {
    std::vector<Region> taken;
    size_t i = first;
    for (; i < regions_.size() && regions_[i].begin < end; ++i) {
      const Region& region = regions_[i];
      taken.push_back({region.begin, std::min(region.end, end), region.first, &lifetime});
      if (region.end > end) taken.push_back({end, region.end, region.first, region.last});
    }
    const int64_t known = regions_.empty() ? 0 : regions_.back().end;
    if (end > known) taken.push_back({std::max(begin, known), end, &lifetime, &lifetime});
    regions_.erase(regions_.begin() + first, regions_.begin() + i);
    regions_.insert(regions_.begin() + first, taken.begin(), taken.end());
  }

  const Clocks& clocks_;
  const int64_t copies_;
  std::vector<Region> regions_;
};

void PlaceSlots(Schedule& schedule, const graph::Graph& graph) {
  const std::vector<std::vector<Access>> accesses = FindAccesses(graph, schedule);
  const int64_t copies = Copies(Space::kSlot, graph);
  Clocks clocks(graph, schedule, copies);
  clocks.Settle();

  std::vector<BufferId> order;
  for (BufferId id : schedule.buffers.Ids()) {
    if (schedule.buffers[id].space == Space::kSlot) order.push_back(id);
  }
  std::stable_sort(order.begin(), order.end(), [&](BufferId a, BufferId b) {
    return accesses[a.index][0].step < accesses[b.index][0].step;
  });
  std::vector<Lifetime> lifetimes(schedule.buffers.size());
  std::map<graph::DeviceId, SlotArena> arenas;
  for (BufferId id : order) {
    Buffer& buffer = schedule.buffers[id];
    lifetimes[id.index] = LifetimeOf(schedule, accesses[id.index]);
    SlotArena& arena = arenas.try_emplace(buffer.device, clocks, copies).first->second;
    buffer.offset = arena.Place(lifetimes[id.index], Aligned(buffer.bytes));
  }
}

void PlaceOthers(const graph::Module& module, Schedule& schedule) {
  std::map<std::tuple<Space, graph::DeviceId>, int64_t> ends;
  for (Buffer& buffer : schedule.buffers) {
    if (buffer.space == Space::kSlot) continue;
    if (buffer.space == Space::kState) {
      const graph::InstanceId owner = module.states[buffer.state].instance;
      buffer.offset = LayOutState(module, owner).Offset(buffer.state);
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
