// PlanMemory: offsets.
//
// Slot buffers are placed in the order of their first access, each at the lowest offset where it
// meets only buffers that are done with before it begins, in this execution and in the one that
// uses the same copy next. The result of a kernel that works in place takes over the buffer of the
// operand that it overwrites, when nobody reads that any more: the two become one buffer, which is
// how a plan says that they share their bytes. What is not a slot lies side by side: inputs,
// outputs and constants live as long as the execution or longer, state as its actor's layout says.
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
  uint32_t first_written, last_written;  // the least and the greatest of its steps
};
using Lifetime = std::vector<Span>;

Lifetime LifetimeOf(const Schedule& schedule, const std::vector<Access>& accesses) {
  Lifetime lifetime;
  for (const Access& access : accesses) {
    const LaneId lane = schedule.units[access.unit].lane;
    const uint32_t written = schedule.steps[access.step].written;
    const auto span = std::find_if(lifetime.begin(), lifetime.end(),
                                   [&](const Span& s) { return s.lane == lane; });
    if (span == lifetime.end()) {
      lifetime.push_back({lane, access, access, written, written});
    } else {
      span->last = access;
      span->first_written = std::min(span->first_written, written);
      span->last_written = std::max(span->last_written, written);
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

// Whether `heir`, made by a kernel that reads `owner`, begins where all of `owner` has ended, in
// program order too: then a plan that holds them in one buffer means the same.
bool Succeeds(const Clocks& clocks, const Lifetime& owner, const Lifetime& heir) {
  for (const Span& earlier : owner) {
    for (const Span& later : heir) {
      if (earlier.last_written > later.first_written) return false;
      const bool before = earlier.lane == later.lane
                              ? earlier.last.step <= later.first.step
                              : clocks.Before(earlier.last.unit, later.first.unit, 0);
      if (!before) return false;
    }
  }
  return true;
}

void Extend(Lifetime& owner, const Lifetime& heir) {
  for (const Span& span : heir) {
    const auto same = std::find_if(owner.begin(), owner.end(),
                                   [&](const Span& s) { return s.lane == span.lane; });
    if (same == owner.end()) {
      owner.push_back(span);
    } else {
      same->last = span.last;
      same->last_written = std::max(same->last_written, span.last_written);
    }
  }
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

  // Whether whoever comes after `owner` in the bytes from `offset` on may be `heir`, for the sake
  // of those who used them first and will again.
  bool MayInherit(int64_t offset, int64_t bytes, const Lifetime& owner, const Lifetime& heir) const {
    return std::all_of(regions_.begin(), regions_.end(), [&](const Region& region) {
      if (region.end <= offset || region.begin >= offset + bytes) return true;
      return region.last == &owner && AllBefore(clocks_, heir, *region.first, copies_);
    });
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

// The slot buffers that the kernel which makes `buffer` may overwrite with it.
std::vector<BufferId> Overwritable(const Schedule& schedule, const graph::Graph& graph,
                                   BufferId buffer, StepId maker) {
  const Step& step = schedule.steps[maker];
  std::vector<BufferId> result;
  if (step.kind != Step::kCall) return result;
  const auto lies_in = [&](BufferId id) {
    return [&schedule, id](ReplicaId replica) { return schedule.replicas[replica].buffer == id; };
  };
  for (const auto& [operand, output] : graph.ops[step.op].inplace) {
    if (schedule.replicas[step.outputs[output]].buffer != buffer) continue;
    const Replica& read = schedule.replicas[step.inputs[operand]];
    const Buffer& owner = schedule.buffers[read.buffer];
    const bool alike = owner.space == Space::kSlot && owner.bytes == schedule.buffers[buffer].bytes &&
                       read.offset == 0;
    const auto readers =
        std::count_if(step.inputs.begin(), step.inputs.end(), lies_in(read.buffer)) +
        std::count_if(step.extents.begin(), step.extents.end(), lies_in(read.buffer));
    if (alike && readers == 1) result.push_back(read.buffer);
  }
  return result;
}

// Every replica moves to the owner of its buffer; buffers without replicas go.
void Merge(Schedule& schedule, const std::vector<BufferId>& owners) {
  Table<BufferId, Buffer> kept;
  std::vector<BufferId> numbers(schedule.buffers.size());
  for (BufferId id : schedule.buffers.Ids()) {
    if (owners[id.index] == id) numbers[id.index] = kept.Add(std::move(schedule.buffers[id]));
  }
  for (Replica& replica : schedule.replicas) {
    replica.buffer = numbers[owners[replica.buffer.index].index];
  }
  schedule.buffers = std::move(kept);
}

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
  std::vector<BufferId> owners;  // by buffer: itself, or the one that it took over
  for (BufferId id : schedule.buffers.Ids()) owners.push_back(id);
  for (BufferId id : order) {
    Buffer& buffer = schedule.buffers[id];
    Lifetime& lifetime = lifetimes[id.index] = LifetimeOf(schedule, accesses[id.index]);
    SlotArena& arena = arenas.try_emplace(buffer.device, clocks, copies).first->second;
    const int64_t bytes = Aligned(buffer.bytes);
    for (BufferId read : Overwritable(schedule, graph, id, accesses[id.index][0].step)) {
      const BufferId owner = owners[read.index];
      Lifetime& before = lifetimes[owner.index];
      if (bytes == 0 || schedule.buffers[owner].device != buffer.device ||
          !Succeeds(clocks, before, lifetime) ||
          !arena.MayInherit(schedule.buffers[owner].offset, bytes, before, lifetime)) {
        continue;
      }
      Extend(before, lifetime);
      owners[id.index] = owner;
      break;
    }
    if (owners[id.index] == id) buffer.offset = arena.Place(lifetime, bytes);
  }
  Merge(schedule, owners);
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
