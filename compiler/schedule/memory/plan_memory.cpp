// PlanMemory: the offsets of buffers.
//
// The slot buffers of a device are packed (offsets/): two may lie on the same bytes where one is
// done with before the other begins, in this execution and in the one that uses the same copy next.
// Before that the results of kernels that work in place take over their operands' buffers
// (lifetime.h). Buffers that are not slots lie side by side: inputs, outputs and constants
// live as long as the execution or longer, state as its actor's layout says.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "compiler/schedule/accesses.h"
#include "compiler/schedule/memory/layout.h"
#include "compiler/schedule/memory/lifetime.h"
#include "compiler/schedule/offsets/offset_assignment.h"
#include "compiler/schedule/passes.h"
#include "compiler/schedule/waits/vector_clocks.h"

namespace cgraph::schedule {
namespace {

// The effort for an offset assignment lower than first fit's: about 10 us, and 1 us a buffer; where
// a limit must be kept a hundred times as much.
constexpr int64_t kEffort = 10'000, kEffortPerBuffer = 1'000, kLimitedEffort = 100;

// ItemClockBuilder: which item may take over whose bytes, in numbers: the sources are lanes, a
// moment is a step's place in the order of an execution.
class ItemClockBuilder {
 public:
  ItemClockBuilder(const Schedule& schedule, const VectorClocks& clocks, int64_t copies,
                   const std::set<LaneId>& lanes)
      : schedule_(schedule), clocks_(clocks), copies_(copies) {
    for (LaneId lane : lanes) lanes_.push_back(InOrder(lane));
    item_clocks_.sources = static_cast<uint32_t>(lanes_.size());
  }

  void Add(const Lifetime& lifetime) {
    for (const Source& source : lanes_) {
      int32_t done = ItemClocks::kNothing;
      int32_t known = ItemClocks::kAll, known_again = ItemClocks::kAll;
      for (const LaneSpan& span : lifetime) {
        if (span.lane == source.lane) {
          done = static_cast<int32_t>(span.last.moment);
          known = std::min(known, static_cast<int32_t>(span.first.moment) - 1);
        } else {
          known = std::min(known, Known(span.first.unit, source, 0));
          known_again = std::min(known_again, Known(span.first.unit, source, copies_));
        }
      }
      item_clocks_.done.push_back(done);
      item_clocks_.known.push_back(known);
      item_clocks_.known_again.push_back(known_again);
    }
  }
  ItemClocks Take() { return std::move(item_clocks_); }

 private:
  // Source: a lane, as an execution meets its units: their numbers there, counted on from the round
  // without a lag, and the moments of their last steps.
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
      const ScheduleUnit& unit = schedule_.units[id];
      const int64_t lag = schedule_.FirstStep(id).lag;
      source.numbers.push_back(lag * static_cast<int64_t>(units.size()) + unit.index);
      source.moments.push_back(static_cast<int32_t>(moments_[unit.first.index + unit.count - 1]));
    }
    return source;
  }

  // Returns the last moment on the lane that `unit`, `executions` later, knows to be over.
  int32_t Known(UnitId unit, const Source& source, int64_t executions) const {
    const int64_t rounds = executions + schedule_.FirstStep(unit).lag;
    const std::optional<int64_t> latest = clocks_.Latest(unit, source.lane, rounds);
    if (!latest) return -1;
    const auto after = std::upper_bound(source.numbers.begin(), source.numbers.end(), *latest);
    if (after == source.numbers.begin()) return -1;
    if (after == source.numbers.end()) return ItemClocks::kAll;
    return source.moments[after - source.numbers.begin() - 1];
  }

  const Schedule& schedule_;
  const VectorClocks& clocks_;
  const int64_t copies_;
  const std::vector<uint32_t> moments_ = schedule_.Moments();
  std::vector<Source> lanes_;
  ItemClocks item_clocks_;
};

// Computes offsets for the slot buffers of one device.
void PackSlots(Schedule& schedule, const VectorClocks& clocks, int64_t copies,
               const std::vector<BufferId>& buffers, const std::vector<Lifetime>& lifetimes,
               const std::optional<int64_t>& limit) {
  OffsetProblem problem;
  std::set<LaneId> lanes;
  for (BufferId id : buffers) {
    Item item{Aligned(schedule.buffers[id].bytes), INT64_MAX, 0};
    for (const LaneSpan& span : lifetimes[id.index]) {
      lanes.insert(span.lane);
      item.begin = std::min<int64_t>(item.begin, span.first.moment);
      item.end = std::max<int64_t>(item.end, span.last.moment + 1);
    }
    problem.items.push_back(item);
  }
  // One lane is in order, and done with one execution before the next, so it needs no handovers.
  if (lanes.size() > 1) {
    ItemClockBuilder item_clocks(schedule, clocks, copies, lanes);
    for (BufferId id : buffers) item_clocks.Add(lifetimes[id.index]);
    problem.item_clocks = item_clocks.Take();
  }
  int64_t effort = kEffort + kEffortPerBuffer * static_cast<int64_t>(buffers.size());
  if (limit) effort *= kLimitedEffort;
  const OffsetAssignment assignment =
      Pack(problem, {.capacity = limit.value_or(0), .effort = effort});
  for (size_t i = 0; i < buffers.size(); ++i) {
    schedule.buffers[buffers[i]].offset = assignment.offsets[i];
  }
}

void PlaceSlots(Schedule& schedule, const graph::Graph& graph, const SlotLimits& limits) {
  const std::vector<std::vector<Access>> accesses = FindAccesses(graph, schedule);
  const int64_t copies = Copies(Space::kSlot, graph);
  VectorClocks clocks(graph, schedule);
  clocks.RunToFixpoint();

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
      ReuseInPlace(schedule, graph, clocks, slots, accesses, lifetimes);
  std::map<graph::DeviceId, std::vector<BufferId>> devices;
  for (BufferId id : slots) {
    if (owners[id.index] == id) devices[schedule.buffers[id].device].push_back(id);
  }
  for (const auto& [device, buffers] : devices) {
    const std::optional<int64_t> limit = limits.empty() ? std::nullopt : limits[device.index];
    PackSlots(schedule, clocks, copies, buffers, lifetimes, limit);
  }
  MoveToOwners(schedule, owners);
}

void PlaceOthers(const graph::Module& module, Schedule& schedule) {
  const std::vector<int64_t> state_offsets = StateOffsets(module);
  std::map<std::tuple<Space, graph::DeviceId>, int64_t> ends;
  for (Buffer& buffer : schedule.buffers) {
    if (buffer.space == Space::kSlot) continue;
    if (buffer.space == Space::kState) {
      buffer.offset = state_offsets[buffer.state.index];
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
