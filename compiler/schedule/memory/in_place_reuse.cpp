#include "compiler/schedule/memory/lifetime.h"

#include <algorithm>

namespace cgraph::schedule {
namespace {

// Returns whether all of `a` is before all of `b` of the execution that has the same copy next.
bool AllBeforeNext(const Schedule& schedule, const VectorClocks& clocks, const Lifetime& a,
                   const Lifetime& b, int64_t copies) {
  for (const LaneSpan& earlier : a) {
    for (const LaneSpan& later : b) {
      if (earlier.lane == later.lane) continue;  // no lag reaches the number of copies
      const int64_t rounds = schedule.Rounds(earlier.last.unit, later.first.unit, copies);
      if (!clocks.Before(earlier.last.unit, later.first.unit, rounds)) return false;
    }
  }
  return true;
}

// Returns whether `heir`, made by a kernel that reads `owner`, begins where all of `owner` has
// ended, in program order too: then a plan that holds them in one buffer means the same.
bool Succeeds(const Schedule& schedule, const VectorClocks& clocks, const Lifetime& owner,
              const Lifetime& heir) {
  for (const LaneSpan& earlier : owner) {
    for (const LaneSpan& later : heir) {
      if (earlier.last_in_program > later.first_in_program) return false;
      const UnitId last = earlier.last.unit, first = later.first.unit;
      const bool before = earlier.lane == later.lane
                              ? earlier.last.moment <= later.first.moment
                              : clocks.Before(last, first, schedule.Rounds(last, first, 0));
      if (!before) return false;
    }
  }
  return true;
}

void Extend(Lifetime& owner, const Lifetime& heir) {
  for (const LaneSpan& span : heir) {
    const auto same = std::find_if(owner.begin(), owner.end(),
                                   [&](const LaneSpan& s) { return s.lane == span.lane; });
    if (same == owner.end()) {
      owner.push_back(span);
    } else {
      same->last = span.last;
      same->last_in_program = std::max(same->last_in_program, span.last_in_program);
    }
  }
}

// Returns the slot buffers that the kernel which makes `buffer` may overwrite with it.
std::vector<BufferId> Overwritable(const Schedule& schedule, const graph::Graph& graph,
                                   BufferId buffer, StepId maker) {
  const Step& step = schedule.steps[maker];
  std::vector<BufferId> result;
  if (step.kind != Step::kCall) return result;
  const auto lies_in = [&](BufferId id) {
    return [&schedule, id](ValueLocationId location) {
      return schedule.locations[location].buffer == id;
    };
  };
  for (const auto& [operand, output] : graph.ops[step.op].inplace) {
    if (schedule.locations[step.outputs[output]].buffer != buffer) continue;
    const ValueLocation& read = schedule.locations[step.inputs[operand]];
    const Buffer& owner = schedule.buffers[read.buffer];
    const bool alike = owner.space == Space::kSlot &&
                       owner.bytes == schedule.buffers[buffer].bytes && read.offset == 0;
    const auto readers =
        std::count_if(step.inputs.begin(), step.inputs.end(), lies_in(read.buffer)) +
        std::count_if(step.extents.begin(), step.extents.end(), lies_in(read.buffer));
    if (alike && readers == 1) result.push_back(read.buffer);
  }
  return result;
}

}  // namespace

std::vector<BufferId> ReuseInPlace(const Schedule& schedule, const graph::Graph& graph,
                                   const VectorClocks& clocks, const std::vector<BufferId>& slots,
                                   const std::vector<std::vector<Access>>& accesses,
                                   std::vector<Lifetime>& lifetimes) {
  const int64_t copies = Copies(Space::kSlot, graph);
  std::vector<BufferId> owners;
  for (BufferId id : schedule.buffers.Ids()) owners.push_back(id);
  for (BufferId id : slots) {
    const Buffer& buffer = schedule.buffers[id];
    const Lifetime& lifetime = lifetimes[id.index];
    for (BufferId read : Overwritable(schedule, graph, id, accesses[id.index][0].step)) {
      const BufferId owner = owners[read.index];
      Lifetime& before = lifetimes[owner.index];
      if (buffer.bytes == 0 || schedule.buffers[owner].device != buffer.device ||
          !Succeeds(schedule, clocks, before, lifetime) ||
          !AllBeforeNext(schedule, clocks, lifetime, before, copies)) {
        continue;
      }
      Extend(before, lifetime);
      owners[id.index] = owner;
      break;
    }
  }
  return owners;
}

void MoveToOwners(Schedule& schedule, const std::vector<BufferId>& owners) {
  Table<BufferId, Buffer> kept;
  std::vector<BufferId> numbers(schedule.buffers.size());
  for (BufferId id : schedule.buffers.Ids()) {
    if (owners[id.index] == id) numbers[id.index] = kept.Add(std::move(schedule.buffers[id]));
  }
  for (ValueLocation& location : schedule.locations) {
    location.buffer = numbers[owners[location.buffer.index].index];
  }
  schedule.buffers = std::move(kept);
}

}  // namespace cgraph::schedule
