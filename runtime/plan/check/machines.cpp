// Rule 16: devices of different nodes share no memory and no events; what goes from one to another
// is a message by mpi, a collective by mpi or, of gpus alone, a collective by nccl.
#include <algorithm>
#include <span>

#include "runtime/plan/check/check_internal.h"
#include "runtime/plan/print.h"

namespace cgraph::plan::check {
namespace {

class MachineCheck {
 public:
  MachineCheck(const Context& context, const GraphIndex& index)
      : context_(context), graph_(context.graph), index_(index) {}

  Status Run() {
    CGRAPH_RETURN_IF_ERROR(CheckWaits());
    CGRAPH_RETURN_IF_ERROR(CheckTransports());
    for (uint32_t i = 0; i < graph_.instructions.size(); ++i) {
      CGRAPH_RETURN_IF_ERROR(CheckAccesses(i));
    }
    return Status::Ok();
  }

 private:
  uint32_t NodeOf(uint32_t device) const { return context_.plan.devices[device]->node; }
  const Device& DeviceOfLane(uint32_t lane) const {
    return *context_.plan.devices[context_.plan.lanes[lane].device()];
  }
  uint32_t NodeOfLane(uint32_t lane) const { return DeviceOfLane(lane).node; }

  Status CheckWaits() {
    std::vector<uint32_t> signal_of(graph_.events, kNone);
    for (uint32_t i = 0; i < graph_.instructions.size(); ++i) {
      const Instruction& at = graph_.instructions[i];
      if (at.kind() == Kind::signal) signal_of[at.subject()] = i;
    }
    for (uint32_t i = 0; i < graph_.instructions.size(); ++i) {
      const Instruction& at = graph_.instructions[i];
      if (at.kind() != Kind::wait) continue;
      for (uint32_t w = at.first(); w < at.first() + at.inputs(); ++w) {
        const uint32_t signal = signal_of[graph_.waits[w].event()];
        if (NodeOf(index_.device(signal)) == NodeOf(index_.device(i))) continue;
        return Refuse(context_, 16,
                      fmt::format("{} waits for the event of another machine\n  {}",
                                  At(context_, i), At(context_, signal)));
      }
    }
    return Status::Ok();
  }

  Status CheckTransports() {
    for (uint32_t c = 0; c < graph_.channels.size(); ++c) {
      const Channel& channel = graph_.channels[c];
      const bool apart = NodeOfLane(channel.from_lane()) != NodeOfLane(channel.to_lane());
      if (!apart || channel.transport() == TransportKind::mpi) continue;
      return Refuse(context_, 16,
                    fmt::format("channel {} goes from {} to {}, which are on different machines, "
                                "by {}",
                                c, LaneName(context_.plan, channel.from_lane()),
                                LaneName(context_.plan, channel.to_lane()),
                                wire::EnumNameTransportKind(channel.transport())));
    }
    for (uint32_t c = 0; c < graph_.collectives.size(); ++c) {
      const Collective& collective = *graph_.collectives[c];
      const Communicator& group = context_.plan.communicators[collective.communicator];
      const auto first = context_.plan.members.begin() + group.first_member();
      const auto members = std::span(first, first + group.members());
      const bool apart = std::any_of(members.begin(), members.end(), [&](uint32_t lane) {
        return NodeOfLane(lane) != NodeOfLane(*first);
      });
      const bool on_gpus = std::all_of(members.begin(), members.end(), [&](uint32_t lane) {
        return DeviceOfLane(lane).kind == DeviceKind::gpu;
      });
      if (!apart || collective.transport == TransportKind::mpi) continue;
      if (on_gpus && collective.transport == TransportKind::nccl) continue;
      return Refuse(context_, 16,
                    fmt::format("collective {} has members on different machines and goes by {}", c,
                                wire::EnumNameTransportKind(collective.transport)));
    }
    return Status::Ok();
  }

  Status CheckAccesses(uint32_t instruction) {
    const uint32_t node = NodeOf(index_.device(instruction));
    uint32_t far = kNone;
    index_.ForEachAccess(instruction, [&](uint32_t value, bool) {
      const uint32_t arena = graph_.buffers[graph_.values[value].buffer()].arena();
      if (NodeOf(graph_.arenas[arena].device()) != node) far = value;
    });
    if (far == kNone) return Status::Ok();
    return Refuse(context_, 16,
                  fmt::format("{} touches memory of another machine: {}", At(context_, instruction),
                              ValueText(context_, far)));
  }

  const Context& context_;
  const Graph& graph_;
  const GraphIndex& index_;
};

}  // namespace

Status CheckMachines(const Context& context, const GraphIndex& index) {
  const auto& devices = context.plan.devices;
  const bool several = std::any_of(devices.begin(), devices.end(),
                                   [](const auto& device) { return device->node != 0; });
  return several ? MachineCheck(context, index).Run() : Status::Ok();
}

}  // namespace cgraph::plan::check
