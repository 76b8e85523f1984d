// PlanMemory: offsets.
//
// The slot buffers of a device are packed (packing/): two may lie on the same bytes where one is
// done with before the other begins, in this execution and in the one that uses the same copy next.
// Before that the result of a kernel that works in place takes over the buffer of the operand that
// it overwrites, when nobody reads that any more: the two become one buffer, which is how a plan
// says that they share their bytes. What is not a slot lies side by side: inputs, outputs and
// constants live as long as the execution or longer, state as its actor's layout says.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "compiler/schedule/accesses.h"
#include "compiler/schedule/memory/alignment.h"
#include "compiler/schedule/memory/state_layout.h"
#include "compiler/schedule/packing/packing.h"
#include "compiler/schedule/passes.h"
#include "compiler/schedule/waits/clocks.h"

namespace cgraph::schedule {
namespace {

// For a packing lower than first fit's: about 10 us, and 1 us a buffer; where a limit must be kept
// a hundred times as much.
constexpr int64_t kEffort = 10'000, kEffortPerBuffer = 1'000, kLimitedEffort = 100;

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

// Whether all of `a` is before all of `b` of the execution that has the same copy next.
bool AllBeforeNext(const Schedule& schedule, const Clocks& clocks, const Lifetime& a,
                   const Lifetime& b, int64_t copies) {
  for (const Span& earlier : a) {
    for (const Span& later : b) {
      if (earlier.lane == later.lane) continue;  // no lag reaches the number of copies
      const int64_t rounds = schedule.Rounds(earlier.last.unit, later.first.unit, copies);
      if (!clocks.Before(earlier.last.unit, later.first.unit, rounds)) return false;
    }
  }
  return true;
}

// Whether `heir`, made by a kernel that reads `owner`, begins where all of `owner` has ended, in
// program order too: then a plan that holds them in one buffer means the same.
bool Succeeds(const Schedule& schedule, const Clocks& clocks, const Lifetime& owner,
              const Lifetime& heir) {
  for (const Span& earlier : owner) {
    for (const Span& later : heir) {
      if (earlier.last_written > later.first_written) return false;
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
    const bool alike = owner.space == Space::kSlot &&
                       owner.bytes == schedule.buffers[buffer].bytes && read.offset == 0;
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

// Buffers become the buffers of kernels' operands that they may overwrite. Returns by buffer who
// owns its bytes then: itself, or the one that it took over. Owners live as long as their heirs.
std::vector<BufferId> TakeOver(const Schedule& schedule, const graph::Graph& graph,
                               const Clocks& clocks, const std::vector<BufferId>& slots,
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

// Who may take over whose bytes, in numbers: the sources are lanes, a moment is a step's place in
// the order of an execution.
class Handovers {
 public:
  Handovers(const Schedule& schedule, const Clocks& clocks, int64_t copies,
            const std::set<LaneId>& lanes)
      : schedule_(schedule), clocks_(clocks), copies_(copies) {
    for (LaneId lane : lanes) lanes_.push_back(InOrder(lane));
    handover_.sources = static_cast<uint32_t>(lanes_.size());
  }

  void Add(const Lifetime& lifetime) {
    for (const Source& source : lanes_) {
      int32_t done = Handover::kNothing;
      int32_t known = Handover::kAll, known_again = Handover::kAll;
      for (const Span& span : lifetime) {
        if (span.lane == source.lane) {
          done = static_cast<int32_t>(span.last.moment);
          known = std::min(known, static_cast<int32_t>(span.first.moment) - 1);
        } else {
          known = std::min(known, Known(span.first.unit, source, 0));
          known_again = std::min(known_again, Known(span.first.unit, source, copies_));
        }
      }
      handover_.done.push_back(done);
      handover_.known.push_back(known);
      handover_.known_again.push_back(known_again);
    }
  }
  Handover Take() { return std::move(handover_); }

 private:
  // A lane, as an execution meets its units: their numbers there, counted on from the round without
  // a lag, and the moments of their last steps.
  struct Source {
    LaneId lane;
    std::vector<int64_t> numbers;  // ascending
    std::vector<int32_t> moments;
  };
  Source InOrder(LaneId lane) const {
    Source source{lane, {}, {}};
    std::vector<UnitId> units = schedule_.lanes[lane].units;
    std::stable_sort(units.begin(), units.end(), [&](UnitId a, UnitId b) {
      return schedule_.FirstStep(a).lag < schedule_.FirstStep(b).lag;
    });
    for (UnitId id : units) {
      const Unit& unit = schedule_.units[id];
      const int64_t lag = schedule_.FirstStep(id).lag;
      source.numbers.push_back(lag * static_cast<int64_t>(units.size()) + unit.index);
      source.moments.push_back(static_cast<int32_t>(moments_[unit.first.index + unit.count - 1]));
    }
    return source;
  }

  // The last moment of an execution on the lane of which `unit`, so many executions later, knows
  // that it is over.
  int32_t Known(UnitId unit, const Source& source, int64_t executions) const {
    const int64_t rounds = executions + schedule_.FirstStep(unit).lag;
    const std::optional<int64_t> latest = clocks_.Latest(unit, source.lane, rounds);
    if (!latest) return -1;
    const auto after = std::upper_bound(source.numbers.begin(), source.numbers.end(), *latest);
    if (after == source.numbers.begin()) return -1;
    if (after == source.numbers.end()) return Handover::kAll;
    return source.moments[after - source.numbers.begin() - 1];
  }

  const Schedule& schedule_;
  const Clocks& clocks_;
  const int64_t copies_;
  const std::vector<uint32_t> moments_ = schedule_.Moments();
  std::vector<Source> lanes_;
  Handover handover_;
};

// Offsets for the slot buffers of one device.
void PackSlots(Schedule& schedule, const Clocks& clocks, int64_t copies,
               const std::vector<BufferId>& buffers, const std::vector<Lifetime>& lifetimes,
               const std::optional<int64_t>& limit) {
  PackingProblem problem;
  std::set<LaneId> lanes;
  for (BufferId id : buffers) {
    Item item{Aligned(schedule.buffers[id].bytes), INT64_MAX, 0};
    for (const Span& span : lifetimes[id.index]) {
      lanes.insert(span.lane);
      item.begin = std::min<int64_t>(item.begin, span.first.moment);
      item.end = std::max<int64_t>(item.end, span.last.moment + 1);
    }
    problem.items.push_back(item);
  }
  // One lane is in order, and done with one execution before the next.
  if (lanes.size() > 1) {
    Handovers handovers(schedule, clocks, copies, lanes);
    for (BufferId id : buffers) handovers.Add(lifetimes[id.index]);
    problem.handover = handovers.Take();
  }
  int64_t effort = kEffort + kEffortPerBuffer * static_cast<int64_t>(buffers.size());
  if (limit) effort *= kLimitedEffort;
  const Packing packing = Pack(problem, {.capacity = limit.value_or(0), .effort = effort});
  for (size_t i = 0; i < buffers.size(); ++i) {
    schedule.buffers[buffers[i]].offset = packing.offsets[i];
  }
}

void PlaceSlots(Schedule& schedule, const graph::Graph& graph, const SlotLimits& limits) {
  const std::vector<std::vector<Access>> accesses = FindAccesses(graph, schedule);
  const int64_t copies = Copies(Space::kSlot, graph);
  Clocks clocks(graph, schedule);
  clocks.Settle();

  std::vector<BufferId> slots;
  for (BufferId id : schedule.buffers.Ids()) {
    if (schedule.buffers[id].space == Space::kSlot) slots.push_back(id);
  }
  std::stable_sort(slots.begin(), slots.end(), [&](BufferId a, BufferId b) {
    return accesses[a.index][0].moment < accesses[b.index][0].moment;
  });
  std::vector<Lifetime> lifetimes(schedule.buffers.size());
  for (BufferId id : slots) lifetimes[id.index] = LifetimeOf(schedule, accesses[id.index]);
  const std::vector<BufferId> owners =
      TakeOver(schedule, graph, clocks, slots, accesses, lifetimes);
  std::map<graph::DeviceId, std::vector<BufferId>> devices;
  for (BufferId id : slots) {
    if (owners[id.index] == id) devices[schedule.buffers[id].device].push_back(id);
  }
  for (const auto& [device, buffers] : devices) {
    const std::optional<int64_t> limit =
        limits.empty() ? std::nullopt : limits[device.index];
    PackSlots(schedule, clocks, copies, buffers, lifetimes, limit);
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

void PlanMemory(const graph::Module& module, const graph::Graph& graph, const SlotLimits& limits,
                Schedule& schedule) {
  PlaceSlots(schedule, graph, limits);
  PlaceOthers(module, schedule);
}

}  // namespace cgraph::schedule
