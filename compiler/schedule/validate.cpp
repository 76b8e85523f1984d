#include "compiler/schedule/validate.h"

#include <algorithm>
#include <vector>

#include "compiler/base/check.h"
#include "compiler/schedule/memory/layout.h"

namespace cgraph::schedule {
namespace {

// Keeps the first fault that is found.
class Faults {
 public:
  template <typename Id>
  void Expect(bool condition, Id id, const char* fault) {
    if (!condition && text_.empty()) text_ = id.str() + ": " + fault;
  }
  bool found() const { return !text_.empty(); }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

// ---- order --------------------------------------------------------------------------------------

class OrderValidator {
 public:
  OrderValidator(const graph::Module& module, const graph::Graph& graph, const Schedule& schedule)
      : module_(module), graph_(graph), schedule_(schedule) {}

  std::string Run() {
    for (LaneId id : schedule_.lanes.Ids()) CheckLane(id);
    for (BufferId id : schedule_.buffers.Ids()) CheckBuffer(id);
    for (ValueLocationId id : schedule_.locations.Ids()) {
      const ValueLocation& location = schedule_.locations[id];
      Expect(graph_.values.Contains(location.value), id, "of no value");
      Expect(schedule_.buffers.Contains(location.buffer), id, "in no buffer");
    }
    CheckChannelsAndGroups();
    if (!faults_.found()) for (StepId id : schedule_.steps.Ids()) CheckStep(id);
    if (!faults_.found()) CheckUnits();
    if (!faults_.found()) CheckMade();
    return faults_.Take();
  }

 private:
  template <typename Id>
  void Expect(bool condition, Id id, const char* fault) {
    faults_.Expect(condition, id, fault);
  }

  void CheckLane(LaneId id) {
    const Lane& lane = schedule_.lanes[id];
    const bool travels = lane.kind == LaneKind::kComm || lane.kind == LaneKind::kSend ||
                         lane.kind == LaneKind::kReceive;
    Expect(module_.devices.Contains(lane.device), id, "on no device");
    Expect(!lane.peer.valid() || travels, id, "a peer, and nothing travels on it");
    Expect(!lane.peer.valid() || module_.devices.Contains(lane.peer), id, "its peer is no device");
    for (size_t i = 0; i < lane.units.size(); ++i) {
      const bool known = schedule_.units.Contains(lane.units[i]);
      Expect(known, id, "a unit that is not there");
      if (!known) return;
      const ScheduleUnit& unit = schedule_.units[lane.units[i]];
      Expect(unit.lane == id && unit.index == i, lane.units[i], "not at its index of its lane");
      Expect(i == 0 || lane.units[i - 1] < lane.units[i], id, "another order than that of a round");
    }
  }

  void CheckBuffer(BufferId id) {
    const Buffer& buffer = schedule_.buffers[id];
    Expect(module_.devices.Contains(buffer.device), id, "on no device");
    Expect(buffer.bytes >= 0, id, "its size is negative");
    const bool is_state = buffer.space == Space::kState;
    const bool is_constant = buffer.space == Space::kConstant;
    Expect(!is_state || module_.states.Contains(buffer.state), id, "of no state");
    Expect(!is_constant || graph_.values.Contains(buffer.constant), id, "of no constant");
  }

  void CheckChannelsAndGroups() {
    for (ChannelId id : schedule_.channels.Ids()) {
      const Channel& channel = schedule_.channels[id];
      Expect(schedule_.lanes.Contains(channel.from) && schedule_.lanes.Contains(channel.to), id,
             "between lanes that are not there");
    }
    for (GroupId id : schedule_.groups.Ids()) {
      for (LaneId lane : schedule_.groups[id].lanes) {
        Expect(schedule_.lanes.Contains(lane), id, "a lane that is not there");
      }
    }
  }

  void CheckStep(StepId id) {
    const Step& step = schedule_.steps[id];
    const bool has_op = step.kind == Step::kCall || step.kind == Step::kLoad ||
                        step.kind == Step::kCollective;
    Expect(schedule_.lanes.Contains(step.lane), id, "on no lane");
    Expect(!has_op || graph_.ops.Contains(step.op), id, "of no op");
    Expect(static_cast<int64_t>(step.lag) < std::max<int64_t>(graph_.inflight, 1), id,
           "lags by as many rounds as executions are in flight");
    for (const auto* list : {&step.inputs, &step.outputs, &step.extents, &step.to_extents}) {
      CheckReplicas(id, *list);
    }
    for (const CollectivePart& part : step.parts) {
      for (const auto* list : {&part.inputs, &part.outputs, &part.extents}) {
        CheckReplicas(id, *list);
      }
    }
    if (step.kind == Step::kTransfer) {
      const bool known = schedule_.channels.Contains(step.channel);
      Expect(known, id, "on no channel");
      if (!known) return;
      const Channel& channel = schedule_.channels[step.channel];
      Expect(channel.from == step.lane && channel.to == step.to_lane, id,
             "on other lanes than its channel");
    }
    if (step.kind != Step::kCollective) return;
    const bool known = schedule_.groups.Contains(step.group);
    Expect(known && schedule_.groups[step.group].lanes.size() == step.parts.size(), id,
           "not a part for each lane of its group");
  }
  void CheckReplicas(StepId id, const std::vector<ValueLocationId>& locations) {
    for (ValueLocationId location : locations) {
      Expect(schedule_.locations.Contains(location), id, "a location that is not there");
    }
  }

  // Checks that units stand for all steps, one after the other; those of one step are neighbours.
  void CheckUnits() {
    uint32_t next = 0;  // step
    for (UnitId id : schedule_.units.Ids()) {
      const ScheduleUnit& unit = schedule_.units[id];
      const bool known = schedule_.lanes.Contains(unit.lane) && unit.count > 0 &&
                         uint64_t{unit.first.index} + unit.count <= schedule_.steps.size();
      Expect(known, id, "on no lane, or of no steps");
      if (!known) return;
      const std::vector<UnitId>& lane = schedule_.lanes[unit.lane].units;
      Expect(unit.index < lane.size() && lane[unit.index] == id, id, "its lane has another one");
      const bool follows = unit.sender.valid() ||
                           (unit.first_part.valid() && unit.first_part != id);
      if (follows) {
        CheckFollower(id, unit);
        continue;
      }
      Expect(unit.first.index == next, id, "not of the steps that come next");
      next = unit.first.index + unit.count;
    }
    Expect(next == schedule_.steps.size(), StepId(next), "in no unit");
  }
  void CheckFollower(UnitId id, const ScheduleUnit& unit) {
    const UnitId lead = unit.sender.valid() ? unit.sender : unit.first_part;
    Expect(lead < id && schedule_.units[lead].first == unit.first, id,
           "does not stand by the unit that it belongs to");
    const Step& step = schedule_.steps[unit.first];
    if (unit.sender.valid()) {
      Expect(step.kind == Step::kTransfer && lead.index + 1 == id.index &&
                 unit.lane == step.to_lane, id, "receives nothing here");
      return;
    }
    const uint32_t rank = id.index - lead.index;
    Expect(step.kind == Step::kCollective && rank < step.parts.size() &&
               schedule_.groups[step.group].lanes[rank] == unit.lane, id, "takes no part here");
  }

  // Checks that in an execution no slot is read before something wrote it.
  void CheckMade() {
    const std::vector<uint32_t> moments = schedule_.Moments();
    std::vector<uint32_t> made(schedule_.buffers.size(), UINT32_MAX);
    const auto write = [&](const std::vector<ValueLocationId>& outputs, uint32_t moment) {
      for (ValueLocationId id : outputs) {
        uint32_t& first = made[schedule_.locations[id].buffer.index];
        first = std::min(first, moment);
      }
    };
    for (StepId id : schedule_.steps.Ids()) {
      const Step& step = schedule_.steps[id];
      write(step.outputs, moments[id.index]);
      for (const CollectivePart& part : step.parts) write(part.outputs, moments[id.index]);
    }
    const auto read = [&](const std::vector<ValueLocationId>& inputs, StepId id) {
      for (ValueLocationId location : inputs) {
        const BufferId buffer = schedule_.locations[location].buffer;
        const bool is_slot = schedule_.buffers[buffer].space == Space::kSlot;
        const bool empty = schedule_.buffers[buffer].bytes == 0;  // nothing to read
        Expect(!is_slot || empty || made[buffer.index] < moments[id.index], id,
               "reads what nothing has written");
      }
    };
    for (StepId id : schedule_.steps.Ids()) {
      const Step& step = schedule_.steps[id];
      read(step.inputs, id);
      for (const CollectivePart& part : step.parts) read(part.inputs, id);
    }
  }

  const graph::Module& module_;
  const graph::Graph& graph_;
  const Schedule& schedule_;
  Faults faults_;
};

bool Overlap(int64_t a, int64_t a_bytes, int64_t b, int64_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

// Checks the operands of one step, or of one part.
void CheckApart(const Schedule& schedule, StepId id, const std::vector<ValueLocationId>& inputs,
                const std::vector<ValueLocationId>& outputs, Faults& faults) {
  for (ValueLocationId output : outputs) {
    const BufferId written = schedule.locations[output].buffer;
    const Buffer& to = schedule.buffers[written];
    for (ValueLocationId input : inputs) {
      const BufferId read = schedule.locations[input].buffer;
      const Buffer& from = schedule.buffers[read];
      const bool apart = read == written || to.space != Space::kSlot ||
                         from.space != Space::kSlot || from.device != to.device ||
                         !Overlap(from.offset, from.bytes, to.offset, to.bytes);
      faults.Expect(apart, id, "writes into a buffer whose bytes another one has that it reads");
    }
  }
}

}  // namespace

std::string FaultInOrder(const graph::Module& module, const graph::Graph& graph,
                         const Schedule& schedule) {
  return OrderValidator(module, graph, schedule).Run();
}

std::string FaultInWaits(const Schedule& schedule) {
  Faults faults;
  for (UnitId id : schedule.units.Ids()) {
    for (const Wait& wait : schedule.units[id].waits) {
      const bool known = schedule.units.Contains(wait.unit);
      faults.Expect(known, id, "waits for a unit that is not there");
      if (!known) break;
      const ScheduleUnit& awaited = schedule.units[wait.unit];
      faults.Expect(awaited.signals, wait.unit, "is waited for and does not signal");
      faults.Expect(awaited.lane != schedule.units[id].lane, id, "waits for its own lane");
      faults.Expect(wait.lag > 0 || wait.unit < id, id, "waits for what comes later in its round");
    }
  }
  return faults.Take();
}

std::string FaultInMemory(const graph::Graph& graph, const Schedule& schedule) {
  Faults faults;
  for (BufferId id : schedule.buffers.Ids()) {
    const Buffer& buffer = schedule.buffers[id];
    faults.Expect(buffer.offset >= 0, id, "begins before its arena");
    faults.Expect(buffer.space != Space::kSlot || buffer.offset % kAlignment == 0, id,
                  "stands on no boundary");
  }
  for (ValueLocationId id : schedule.locations.Ids()) {
    const ValueLocation& location = schedule.locations[id];
    const int64_t bytes = graph.values[location.value].type.bytes();
    faults.Expect(location.offset >= 0 &&
                      location.offset + bytes <= schedule.buffers[location.buffer].bytes,
                  id, "reaches out of its buffer");
  }
  for (StepId id : schedule.steps.Ids()) {
    const Step& step = schedule.steps[id];
    CheckApart(schedule, id, step.inputs, step.outputs, faults);
    for (const CollectivePart& part : step.parts)
      CheckApart(schedule, id, part.inputs, part.outputs, faults);
  }
  return faults.Take();
}

void Validate(const std::string& fault, const graph::Graph& graph, const char* phase) {
  CGRAPH_CHECK(fault.empty(), phase, "graph " + graph.name + ": " + fault);
}

}  // namespace cgraph::schedule
