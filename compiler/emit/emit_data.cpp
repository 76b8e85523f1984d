#include "compiler/emit/emit_graph.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "compiler/graph/names.h"
#include "compiler/schedule/memory/layout.h"
#include "runtime/plan/kinds.h"

namespace cgraph::emit {
namespace {

using schedule::Buffer;
using schedule::ValueLocationId;
using schedule::Space;

plan::Space PlanSpace(Space space) {
  switch (space) {
    case Space::kSlot: return plan::Space::slot;
    case Space::kState: return plan::Space::state;
    case Space::kOutput: return plan::Space::output;
    case Space::kInput: return plan::Space::input;
    case Space::kConstant: return plan::Space::constant;
  }
  return plan::Space::slot;
}

class DataEmitter {
 public:
  DataEmitter(const graph::Module& module, const graph::Graph& graph,
              const schedule::Schedule& schedule, const PlanNumbers& numbers, Pools& pools,
              plan::Graph& out)
      : module_(module), graph_(graph), schedule_(schedule), numbers_(numbers), pools_(pools),
        out_(out) {}

  void Run() {
    EmitSymbols();
    EmitCalls();
    EmitBuffers();
    EmitValues();
    EmitChannels();
    EmitPorts();
  }

 private:
  void EmitSymbols() {
    for (const graph::Symbol& symbol : graph_.symbols) {
      out_.symbols.emplace_back(symbol.bound, pools_.Name(symbol.name));
    }
    for (const schedule::Extent& extent : schedule_.extents) {
      out_.extents.emplace_back(extent.symbol.index, extent.device.index, extent.location.index);
    }
  }

  // Returns by call the number of its action, from 1; 0 for calls that are one by themselves, and
  // where there are more than a plan can number.
  std::vector<uint16_t> NumberActions() const {
    std::vector<uint16_t> numbers(graph_.calls.size(), 0);
    if (!graph_.rules) return numbers;
    std::map<uint32_t, uint32_t> calls;  // by action
    for (const graph::CallRule& rule : graph_.rules->calls) ++calls[rule.action];
    calls[graph::kNoAction] = 0;
    std::map<uint32_t, uint16_t> known;
    for (size_t i = 0; i < numbers.size(); ++i) {
      const uint32_t action = graph_.rules->calls[i].action;
      if (calls[action] < 2) continue;
      const auto next = static_cast<uint16_t>(known.size() < UINT16_MAX ? known.size() + 1 : 0);
      numbers[i] = known.emplace(action, next).first->second;
    }
    return numbers;
  }

  void EmitCalls() {
    const std::vector<uint16_t> actions = NumberActions();
    for (const graph::Call& call : graph_.calls) {
      const auto first = static_cast<uint32_t>(out_.call_indices.size());
      for (int64_t index : call.indices) out_.call_indices.push_back(static_cast<int32_t>(index));
      out_.calls.emplace_back(call.instance.index, pools_.Name(call.method),
                              pools_.Site(call.site), first,
                              static_cast<uint16_t>(call.indices.size()),
                              actions[out_.calls.size()]);
    }
  }

  uint32_t ArenaOf(const Buffer& buffer) {
    const graph::InstanceId owner = buffer.space == Space::kState
                                        ? module_.states[buffer.state].instance
                                        : graph::InstanceId();
    const auto [it, is_new] =
        arenas_.try_emplace({buffer.space, buffer.device, owner}, out_.arenas.size());
    if (is_new) {
      const int64_t bytes =
          owner.valid() ? schedule::LayOutState(module_, owner).bytes : int64_t{0};
      out_.arenas.emplace_back(buffer.device.index, owner.index, PlanSpace(buffer.space),
                               plan::Memory::plain,
                               static_cast<uint16_t>(schedule::Copies(buffer.space, graph_)),
                               bytes);
    }
    return it->second;
  }

  void EmitBuffers() {
    for (const Buffer& buffer : schedule_.buffers) {
      const uint32_t arena = ArenaOf(buffer);
      const int64_t end = schedule::Aligned(buffer.offset + buffer.bytes);
      plan::Arena& record = out_.arenas[arena];
      record.mutate_bytes(std::max<uint64_t>(record.bytes(), end));
      if (buffer.space == Space::kConstant) {
        const std::string& bytes = graph_.values[buffer.constant].constant;
        out_.constants.emplace_back(static_cast<uint32_t>(out_.buffers.size()),
                                    out_.constant_data.size());
        out_.constant_data.insert(out_.constant_data.end(), bytes.begin(), bytes.end());
      }
      out_.buffers.emplace_back(arena, /*group=*/plan::kNone, buffer.offset, buffer.bytes,
                                schedule::kAlignment);
    }
  }

  void EmitValues() {
    for (const schedule::ValueLocation& location : schedule_.locations) {
      const graph::Value& value = graph_.values[location.value];
      const auto first_dim = static_cast<uint32_t>(out_.dims.size());
      for (const graph::Dim& dim : value.type.dims) {
        out_.dims.emplace_back(dim.extent, dim.symbol.index);
      }
      out_.values.emplace_back(pools_.Name(graph::ValueName(graph_, value, pools_.sources())),
                               PlanDType(value.type.dtype),
                               static_cast<uint8_t>(value.type.dims.size()), first_dim,
                               location.buffer.index, location.offset,
                               value.type.bytes());
    }
  }

  void EmitChannels() {
    for (schedule::ChannelId id : schedule_.channels.Ids()) {
      if (numbers_.channels[id.index] == plan::kNone) continue;
      const schedule::Channel& channel = schedule_.channels[id];
      const bool meets = DeliveryOf(channel.transport) == Delivery::kRendezvous;
      out_.channels.emplace_back(meets ? plan::Protocol::rendezvous : plan::Protocol::buffered,
                                 plan::KindOf(channel.transport),
                                 numbers_.communicators[id.index],
                                 numbers_.lanes[channel.from.index],
                                 numbers_.lanes[channel.to.index], meets ? 0 : channel.capacity);
    }
  }

  void EmitPorts() {
    const auto emit = [](const std::vector<graph::Port>& ports,
                         const std::vector<ValueLocationId>& values,
                         std::vector<std::unique_ptr<plan::Port>>& out) {
      for (size_t i = 0; i < ports.size(); ++i) {
        out.push_back(std::make_unique<plan::Port>());
        out.back()->name = ports[i].name;
        out.back()->value = values[i].index;
      }
    };
    emit(graph_.inputs, schedule_.inputs, out_.inputs);
    emit(graph_.outputs, schedule_.outputs, out_.outputs);
  }

  const graph::Module& module_;
  const graph::Graph& graph_;
  const schedule::Schedule& schedule_;
  const PlanNumbers& numbers_;
  Pools& pools_;
  plan::Graph& out_;
  std::map<std::tuple<Space, graph::DeviceId, graph::InstanceId>, uint32_t> arenas_;
};

}  // namespace

void EmitData(const graph::Module& module, const graph::Graph& graph,
              const schedule::Schedule& schedule, const PlanNumbers& numbers, Pools& pools,
              plan::Graph& out) {
  DataEmitter(module, graph, schedule, numbers, pools, out).Run();
}

}  // namespace cgraph::emit
