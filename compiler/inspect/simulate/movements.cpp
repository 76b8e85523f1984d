#include "compiler/inspect/simulate/movements.h"

#include <algorithm>

#include "compiler/inspect/graph_messages.h"
#include "llvm/ADT/StringRef.h"
#include "runtime/plan/kinds.h"

namespace cgraph {
namespace {

class Applier {
 public:
  Applier(const plan::Plan& plan, const plan::Graph& graph, const cost::Topology& topology,
          std::vector<uint64_t>& durations)
      : plan_(plan), graph_(graph), index_(IndexMessages(plan, graph)), costs_(topology),
        durations_(durations) {}

  Movements Run() {
    for (uint32_t i = 0; i < graph_.instructions.size(); ++i) {
      if (graph_.instructions[i].kind() == plan::Kind::call) OfCall(i);
      if (graph_.instructions[i].kind() == plan::Kind::copy) OfCopy(i);
    }
    for (uint32_t channel = 0; channel < graph_.channels.size(); ++channel) OfChannel(channel);
    for (const CollectiveParts parts : CollectivesOf(index_)) OfCollective(parts);
    return std::move(movements_);
  }

 private:
  LogicalDevice DeviceOfLane(uint32_t lane) const {
    return plan::LogicalDeviceOf(*plan_.devices[plan_.lanes[lane].device()]);
  }
  LogicalDevice DeviceOf(const plan::Value& value) const {
    const plan::Buffer& buffer = graph_.buffers[value.buffer()];
    return plan::LogicalDeviceOf(*plan_.devices[graph_.arenas[buffer.arena()].device()]);
  }
  const plan::Value& ValueAt(uint32_t operand) const {
    return graph_.values[graph_.operands[operand]];
  }
  uint64_t Bytes(const plan::CommPart& part, bool received) const {
    const uint32_t count = received ? part.outputs() : part.inputs();
    const uint32_t first = part.first() + (received ? part.inputs() : 0);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; ++i) {
      bytes += ValueAt(first + i).bytes();
    }
    return bytes;
  }

  // A kernel whose work the plan does not state keeps its time.
  void OfCall(uint32_t i) {
    const plan::Instruction& instruction = graph_.instructions[i];
    const plan::Kernel& kernel = *plan_.kernels[instruction.subject()];
    if (kernel.flops == 0 && kernel.bytes == 0) return;
    const auto dtype =
        instruction.outputs() == 0
            ? DType::kF32
            : static_cast<DType>(ValueAt(instruction.first() + instruction.inputs()).dtype());
    const LogicalDevice device = DeviceOfLane(index_.lane(i));
    durations_[i] = costs_.Kernel(device, kernel.flops, kernel.bytes, dtype);
    for (uint32_t input = 0; input < instruction.inputs(); ++input) {
      const plan::Value& value = ValueAt(instruction.first() + input);
      durations_[i] += costs_.RemoteRead(device, DeviceOf(value), value.bytes());
    }
  }

  void OfCopy(uint32_t i) {
    const plan::Instruction& copy = graph_.instructions[i];
    if (copy.inputs() == 0 || copy.outputs() == 0) return;
    const plan::Value& from = ValueAt(copy.first());
    const plan::Value& to = ValueAt(copy.first() + copy.inputs());
    Set(i, costs_.Copy(DeviceOfLane(index_.lane(i)), DeviceOf(from), DeviceOf(to), from.bytes()));
  }

  void OfChannel(uint32_t number) {
    const plan::Channel& channel = graph_.channels[number];
    const auto sends = index_.sends(number), receives = index_.receives(number);
    const TransportKind by = plan::KindOf(channel.transport());
    for (size_t j = 0; j < std::min(sends.size(), receives.size()); ++j) {
      const cost::Movement movement =
          costs_.Message(DeviceOfLane(channel.from_lane()), DeviceOfLane(channel.to_lane()), by,
                         Bytes(graph_.parts[sends[j].part], /*received=*/false));
      durations_[receives[j].instruction] = movement.ps;
      Set(sends[j].instruction, movement);
    }
  }

  void OfCollective(CollectiveParts parts) {
    const plan::CommPart& first = graph_.parts[parts[0].part];
    const plan::Collective& collective = *graph_.collectives[first.subject()];
    const CollectiveTraits* kind = plan::FindTraits(collective);
    if (!kind) return;
    std::vector<LogicalDevice> participants;
    for (const plan::CollectivePart& part : parts) {
      participants.push_back(DeviceOfLane(index_.lane(part.instruction)));
    }
    const size_t root = std::min<size_t>(std::max(collective.root, 0), parts.size() - 1);
    const TransportKind by = plan::KindOf(collective.transport);
    const uint64_t bytes = Bytes(graph_.parts[parts[root].part], /*received=*/false);
    const cost::Movement movement =
        SenderOf(graph_, parts)
            ? costs_.Message(participants[root], participants[1 - root], by, bytes)
            : costs_.Collective(kind->kind, participants, by, bytes, static_cast<uint32_t>(root));
    for (const plan::CollectivePart& part : parts) durations_[part.instruction] = movement.ps;
    Set(parts[0].instruction, movement);
  }

  void Set(uint32_t i, const cost::Movement& movement) {
    durations_[i] = movement.ps;
    if (!movement.resources.empty()) movements_[i] = movement;
  }

  const plan::Plan& plan_;
  const plan::Graph& graph_;
  const plan::GraphIndex index_;
  cost::Costs costs_;
  std::vector<uint64_t>& durations_;
  Movements movements_;
};

}  // namespace

Movements ApplyTopology(const plan::Plan& plan, const plan::Graph& graph,
                        const cost::Topology& topology, std::vector<uint64_t>& durations) {
  return Applier(plan, graph, topology, durations).Run();
}

}  // namespace cgraph
