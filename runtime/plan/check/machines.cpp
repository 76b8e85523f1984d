// Rule 16: devices of different nodes share no memory and no events; what goes from one to another
// is a message by mpi, a collective by mpi or, of gpus alone, a collective by nccl.
#include <algorithm>
#include <span>

#include "runtime/plan/check/check_internal.h"
#include "runtime/plan/print.h"

namespace cgraph::plan::check {
namespace {

uint32_t NodeOf(const Context& context, uint32_t device) {
  return context.plan.devices[device]->node;
}
const Device& DeviceOfLane(const Context& context, uint32_t lane) {
  return *context.plan.devices[context.plan.lanes[lane].device()];
}

Status CheckWaits(const Context& context, const GraphIndex& index) {
  const Graph& graph = context.graph;
  std::vector<uint32_t> signal_of(graph.events, kNone);
  for (uint32_t i = 0; i < graph.instructions.size(); ++i) {
    const Instruction& at = graph.instructions[i];
    if (at.kind() == Kind::signal) signal_of[at.subject()] = i;
  }
  for (uint32_t i = 0; i < graph.instructions.size(); ++i) {
    const Instruction& at = graph.instructions[i];
    if (at.kind() != Kind::wait) continue;
    for (uint32_t w = at.first(); w < at.first() + at.inputs(); ++w) {
      const uint32_t signal = signal_of[graph.waits[w].event()];
      if (NodeOf(context, index.device(signal)) == NodeOf(context, index.device(i))) continue;
      return Refuse(context, 16,
                    fmt::format("{} waits for the event of another machine\n  {}",
                                At(context, i), At(context, signal)));
    }
  }
  return Status::Ok();
}

Status CheckTransports(const Context& context) {
  const Graph& graph = context.graph;
  for (uint32_t c = 0; c < graph.channels.size(); ++c) {
    const Channel& channel = graph.channels[c];
    const bool apart = DeviceOfLane(context, channel.from_lane()).node !=
                       DeviceOfLane(context, channel.to_lane()).node;
    if (!apart || channel.transport() == TransportKind::mpi) continue;
    return Refuse(context, 16,
                  fmt::format("channel {} goes from {} to {}, which are on different machines, "
                              "by {}",
                              c, LaneName(context.plan, channel.from_lane()),
                              LaneName(context.plan, channel.to_lane()),
                              wire::EnumNameTransportKind(channel.transport())));
  }
  for (uint32_t c = 0; c < graph.collectives.size(); ++c) {
    const Collective& collective = *graph.collectives[c];
    const Communicator& group = context.plan.communicators[collective.communicator];
    const auto first = context.plan.members.begin() + group.first_member();
    const auto members = std::span(first, first + group.members());
    const bool apart = std::any_of(members.begin(), members.end(), [&](uint32_t lane) {
      return DeviceOfLane(context, lane).node != DeviceOfLane(context, *first).node;
    });
    const bool on_gpus = std::all_of(members.begin(), members.end(), [&](uint32_t lane) {
      return DeviceOfLane(context, lane).kind == DeviceKind::gpu;
    });
    if (!apart || collective.transport == TransportKind::mpi) continue;
    if (on_gpus && collective.transport == TransportKind::nccl) continue;
    return Refuse(context, 16,
                  fmt::format("collective {} has members on different machines and goes by {}", c,
                              wire::EnumNameTransportKind(collective.transport)));
  }
  return Status::Ok();
}

Status CheckAccesses(const Context& context, const GraphIndex& index, uint32_t instruction) {
  const Graph& graph = context.graph;
  const uint32_t node = NodeOf(context, index.device(instruction));
  uint32_t far = kNone;
  index.ForEachAccess(instruction, [&](uint32_t value, bool) {
    const uint32_t arena = graph.buffers[graph.values[value].buffer()].arena();
    if (NodeOf(context, graph.arenas[arena].device()) != node) far = value;
  });
  if (far == kNone) return Status::Ok();
  return Refuse(context, 16,
                fmt::format("{} touches memory of another machine: {}", At(context, instruction),
                            ValueText(context, far)));
}

}  // namespace

Status CheckMachines(const Context& context, const GraphIndex& index) {
  const auto& devices = context.plan.devices;
  const bool several = std::any_of(devices.begin(), devices.end(),
                                   [](const auto& device) { return device->node != 0; });
  if (!several) return Status::Ok();
  CGRAPH_RETURN_IF_ERROR(CheckWaits(context, index));
  CGRAPH_RETURN_IF_ERROR(CheckTransports(context));
  for (uint32_t i = 0; i < context.graph.instructions.size(); ++i) {
    CGRAPH_RETURN_IF_ERROR(CheckAccesses(context, index, i));
  }
  return Status::Ok();
}

}  // namespace cgraph::plan::check
