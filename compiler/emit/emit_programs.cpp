#include "compiler/emit/emit_graph.h"

#include <algorithm>
#include <memory>

#include "compiler/base/check.h"
#include "compiler/base/limits.h"
#include "runtime/plan/kinds.h"

namespace cgraph::emit {
namespace {

using schedule::ValueLocationId;
using schedule::Space;
using schedule::Step;
using schedule::ScheduleUnit;
using schedule::UnitId;

class ProgramEmitter {
 public:
  ProgramEmitter(const graph::Graph& graph, const schedule::Schedule& schedule,
                 const PlanNumbers& numbers, Pools& pools, plan::Graph& out)
      : graph_(graph), schedule_(schedule), numbers_(numbers), pools_(pools), out_(out),
        programs_(numbers.plan_lanes) {}

  void Run() {
    NumberEvents();
    for (uint32_t i = 0; i < schedule_.units.size();) {
      const uint32_t end = EndOfMeeting(i);
      for (uint32_t unit = i; unit < end; ++unit) EmitWait(UnitId(unit));
      for (uint32_t unit = i; unit < end; ++unit) EmitSteps(UnitId(unit));
      for (uint32_t unit = i; unit < end; ++unit) EmitSignal(UnitId(unit));
      i = end;
    }
    for (const std::vector<plan::Instruction>& program : programs_) {
      out_.programs.emplace_back(static_cast<uint32_t>(out_.instructions.size()),
                                 static_cast<uint32_t>(program.size()));
      out_.instructions.insert(out_.instructions.end(), program.begin(), program.end());
    }
  }

 private:
  // Units [i, end) happen together: the ends of a transfer, the parts of a collective.
  uint32_t EndOfMeeting(uint32_t i) const {
    const auto joined = [&](uint32_t unit) {
      const ScheduleUnit& next = schedule_.units[UnitId(unit)];
      return next.sender.valid() || (next.first_part.valid() && next.first_part != UnitId(unit));
    };
    uint32_t end = i + 1;
    while (end < schedule_.units.size() && joined(end)) ++end;
    return end;
  }

  void NumberEvents() {
    events_.assign(schedule_.units.size(), plan::kNone);
    for (UnitId unit : schedule_.units.Ids()) {
      if (schedule_.units[unit].signals) events_[unit.index] = out_.events++;
    }
  }

  // Returns where a step stands in program order. A transfer is two instructions, a send before its
  // receive.
  uint32_t ProgramOrderOf(const Step& step, bool receives = false) const {
    return 2 * step.program_order + (receives ? 1 : 0);
  }
  uint32_t ProgramOrderOf(const ScheduleUnit& unit) const {
    return ProgramOrderOf(schedule_.steps[unit.first]);
  }

  // Appends an instruction to the lane, at the next position.
  plan::Instruction& Append(schedule::LaneId lane, plan::Kind kind, uint32_t program_order) {
    plan::Instruction instruction{};
    instruction.mutate_kind(kind);
    instruction.mutate_call(plan::kNone);
    instruction.mutate_certificate_position(position_++);
    instruction.mutate_program_order(program_order);
    std::vector<plan::Instruction>& program = programs_[numbers_.lanes[lane.index]];
    program.push_back(instruction);
    return program.back();
  }

  void EmitWait(UnitId id) {
    const ScheduleUnit& unit = schedule_.units[id];
    if (unit.waits.empty()) return;
    plan::Instruction& wait = Append(unit.lane, plan::Kind::wait, ProgramOrderOf(unit));
    wait.mutate_flags(plan::kAlwaysRuns);
    wait.mutate_first(static_cast<uint32_t>(out_.waits.size()));
    wait.mutate_inputs(static_cast<uint16_t>(unit.waits.size()));
    for (const schedule::Wait& source : unit.waits) {
      out_.waits.emplace_back(events_[source.unit.index], static_cast<uint16_t>(source.lag));
    }
  }

  void EmitSignal(UnitId id) {
    const ScheduleUnit& unit = schedule_.units[id];
    if (!unit.signals) return;
    plan::Instruction& signal = Append(unit.lane, plan::Kind::signal, ProgramOrderOf(unit));
    signal.mutate_flags(plan::kAlwaysRuns);
    signal.mutate_subject(events_[id.index]);
  }

  void EmitSteps(UnitId id) {
    const ScheduleUnit& unit = schedule_.units[id];
    for (uint32_t i = 0; i < unit.count; ++i) {
      const Step& step = schedule_.steps[schedule::StepId(unit.first.index + i)];
      if (step.kind == Step::kTransfer) {
        EmitEnd(unit, step);
      } else if (step.kind == Step::kCollective) {
        EmitPart(unit, step, id.index - unit.first_part.index);
      } else {
        EmitStep(unit, step);
      }
    }
  }

  void EmitStep(const ScheduleUnit& unit, const Step& step) {
    static constexpr plan::Kind kKinds[] = {plan::Kind::call, plan::Kind::load, plan::Kind::input,
                                            plan::Kind::output, plan::Kind::copy};
    CGRAPH_CHECK(std::max(step.inputs.size(), step.outputs.size()) <= kMaxOperands, "emit",
                 "an instruction with more operands than a plan can say");
    plan::Instruction& instruction = Append(unit.lane, kKinds[step.kind], ProgramOrderOf(step));
    instruction.mutate_first(AddOperands(step.inputs));
    AddOperands(step.outputs);
    instruction.mutate_inputs(static_cast<uint16_t>(step.inputs.size()));
    instruction.mutate_outputs(static_cast<uint16_t>(step.outputs.size()));
    instruction.mutate_lag(static_cast<uint16_t>(step.lag));
    instruction.mutate_call(step.call.index);
    instruction.mutate_expected(step.expected_ps);
    uint8_t flags = WritesState(step) ? plan::kCommitsState : 0;
    switch (step.kind) {
      case Step::kCall:
        instruction.mutate_subject(pools_.Kernel(graph_.ops[step.op]));
        if (graph_.ops[step.op].fails) flags |= plan::kMayFail;
        break;
      case Step::kLoad:
        instruction.mutate_subject(pools_.Weight(graph_.ops[step.op]));
        break;
      case Step::kInput: case Step::kOutput:
        instruction.mutate_subject(step.port);
        break;
      case Step::kCopy: case Step::kTransfer: case Step::kCollective:
        break;
    }
    instruction.mutate_flags(flags);
  }

  // Appends a comm; its one part is the next that is added.
  void AppendComm(const ScheduleUnit& unit, const Step& step, uint32_t program_order) {
    plan::Instruction& comm = Append(unit.lane, plan::Kind::comm, program_order);
    comm.mutate_flags(plan::kAlwaysRuns);
    comm.mutate_first(static_cast<uint32_t>(out_.parts.size()));
    comm.mutate_inputs(1);
    comm.mutate_lag(static_cast<uint16_t>(step.lag));
    comm.mutate_call(step.call.index);
    comm.mutate_expected(step.expected_ps);
  }

  // Emits one end of a transfer. Both ends of a rendezvous happen at one position; a buffered
  // message is sent first.
  void EmitEnd(const ScheduleUnit& unit, const Step& step) {
    const bool receives = unit.sender.valid();
    const bool rendezvous =
        DeliveryOf(schedule_.channels[step.channel].transport) == Delivery::kRendezvous;
    const uint32_t channel = numbers_.channels[step.channel.index];
    if (receives && rendezvous) --position_;
    if (channel == plan::kNone) return EmitBroadcastEnd(unit, step, receives);
    AppendComm(unit, step, ProgramOrderOf(step, receives));
    const std::vector<ValueLocationId>& values = receives ? step.outputs : step.inputs;
    const auto count = static_cast<uint16_t>(values.size());
    out_.parts.emplace_back(receives ? plan::Part::recv : plan::Part::send, /*flags=*/0,
                            receives ? 0 : count, receives ? count : 0, channel, transfers_,
                            AddOperands(values));
    if (receives) ++transfers_;
  }

  // Emits one end of a transfer that is a broadcast, whose root leaves its own output out.
  void EmitBroadcastEnd(const ScheduleUnit& unit, const Step& step, bool receives) {
    if (!receives) AddBroadcast(step);
    AppendComm(unit, step, ProgramOrderOf(step));
    const std::vector<ValueLocationId>& values = receives ? step.outputs : step.inputs;
    AddCollectivePart(plan::kIsMessage, receives ? 0 : values.size(),
                      receives ? values.size() : 0, AddOperands(values));
  }

  // Adds the broadcast that a transfer is; its members are the two lanes, in order.
  void AddBroadcast(const Step& step) {
    auto out = std::make_unique<plan::Collective>();
    out->kind = wire::CollectiveKind::broadcast;
    const bool is_first = numbers_.lanes[step.lane.index] < numbers_.lanes[step.to_lane.index];
    out->root = is_first ? 0 : 1;
    out->communicator = numbers_.communicators[step.channel.index];
    out->transport = plan::KindOf(TransportKind::kNccl);
    out_.collectives.push_back(std::move(out));
  }

  // Emits one participant's part. All parts stand at one position, in program order too.
  void EmitPart(const ScheduleUnit& unit, const Step& step, uint32_t rank) {
    if (rank == 0) {
      AddCollective(step);
    } else {
      --position_;
    }
    const schedule::CollectivePart& part = step.parts[rank];
    CGRAPH_CHECK(std::max(part.inputs.size(), part.outputs.size()) <= kMaxOperands, "emit",
                 "a part with more operands than a plan can say");
    AppendComm(unit, step, ProgramOrderOf(step));
    const uint32_t first = AddOperands(part.inputs);
    AddOperands(part.outputs);
    AddCollectivePart(/*flags=*/0, part.inputs.size(), part.outputs.size(), first);
  }

  // Adds a part of the last collective.
  void AddCollectivePart(uint8_t flags, size_t inputs, size_t outputs, uint32_t first_operand) {
    out_.parts.emplace_back(plan::Part::collective, flags, static_cast<uint16_t>(inputs),
                            static_cast<uint16_t>(outputs),
                            static_cast<uint32_t>(out_.collectives.size() - 1), /*transfer=*/0,
                            first_operand);
  }

  void AddCollective(const Step& step) {
    const graph::Collective& collective = *graph_.ops[step.op].collective;
    auto out = std::make_unique<plan::Collective>();
    out->kind = static_cast<wire::CollectiveKind>(collective.kind);
    if (collective.reduction) {
      out->reduction = static_cast<wire::Reduction>(*collective.reduction);
    }
    out->root = static_cast<int32_t>(collective.root);
    out->communicator = numbers_.groups[step.group.index];
    out->transport = plan::KindOf(step.by);
    out_.collectives.push_back(std::move(out));
  }

  uint32_t AddOperands(const std::vector<ValueLocationId>& locations) {
    const auto first = static_cast<uint32_t>(out_.operands.size());
    for (ValueLocationId id : locations) out_.operands.push_back(id.index);
    return first;
  }

  bool WritesState(const Step& step) const {
    return std::any_of(step.outputs.begin(), step.outputs.end(), [&](ValueLocationId id) {
      return schedule_.buffers[schedule_.locations[id].buffer].space == Space::kState;
    });
  }

  const graph::Graph& graph_;
  const schedule::Schedule& schedule_;
  const PlanNumbers& numbers_;
  Pools& pools_;
  plan::Graph& out_;
  std::vector<std::vector<plan::Instruction>> programs_;  // by plan lane
  std::vector<uint32_t> events_;                          // by unit
  uint32_t position_ = 0, transfers_ = 0;
};

}  // namespace

void EmitPrograms(const graph::Graph& graph, const schedule::Schedule& schedule,
                  const PlanNumbers& numbers, Pools& pools, plan::Graph& out) {
  ProgramEmitter(graph, schedule, numbers, pools, out).Run();
}

}  // namespace cgraph::emit
