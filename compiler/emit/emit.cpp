#include "compiler/emit/emit.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "compiler/base/check.h"
#include "compiler/base/limits.h"
#include "compiler/cost/topology.h"
#include "compiler/emit/emit_graph.h"
#include "compiler/emit/mark_captures.h"
#include "compiler/emit/pools.h"
#include "compiler/schedule/memory/layout.h"
#include "llvm/Support/SHA1.h"
#include "llvm/Support/xxhash.h"
#include "runtime/base/kinds/limits.h"
#include "runtime/plan/check.h"

namespace cgraph {
namespace {

using emit::PlanNumbers;
using emit::Pools;
using schedule::LaneKind;
using schedule::Schedule;

plan::LaneKind PlanLaneKind(LaneKind kind) {
  switch (kind) {
    case LaneKind::kCompute: return plan::LaneKind::compute;
    case LaneKind::kComm: case LaneKind::kSend: case LaneKind::kReceive:
      return plan::LaneKind::comm;
    case LaneKind::kCopyIn: case LaneKind::kCopyOut: return plan::LaneKind::copy;
    case LaneKind::kInput: case LaneKind::kOutput: return plan::LaneKind::host;
  }
  return plan::LaneKind::compute;
}

void EmitDevices(const graph::Module& module, plan::Plan& plan) {
  for (const LogicalDevice& device : module.devices) {
    auto out = std::make_unique<plan::Device>();
    out->kind = static_cast<plan::DeviceKind>(device.kind);  // kinds.h: the same numbers
    out->index = device.index;
    out->node = device.node;
    out->memory_limit = std::numeric_limits<uint64_t>::max();  // none is assumed
    plan.devices.push_back(std::move(out));
  }
}

// The key by which graphs share a lane: its device, its kind, and the peer that it is for, if any.
using LaneKey = std::tuple<graph::DeviceId, LaneKind, graph::DeviceId>;
LaneKey KeyOf(const schedule::Lane& lane) { return {lane.device, lane.kind, lane.peer}; }

// Lanes belong to the plan: graphs that use the same kind of lane of a device share it.
std::vector<PlanNumbers> EmitLanes(const std::vector<Schedule>& schedules, plan::Plan& plan) {
  std::map<LaneKey, uint32_t> numbers;
  std::set<graph::DeviceId> devices;
  for (const Schedule& schedule : schedules) {
    for (const schedule::Lane& lane : schedule.lanes) numbers[KeyOf(lane)] = 0;
  }
  for (auto& [key, number] : numbers) {
    const auto& [device, kind, peer] = key;
    number = static_cast<uint32_t>(plan.lanes.size());
    devices.insert(device);
    plan.lanes.emplace_back(device.index, PlanLaneKind(kind),
                            peer.valid() ? peer.index : plan::kNone,
                            /*worker=*/static_cast<uint32_t>(devices.size() - 1));
  }
  plan.workers = static_cast<uint32_t>(std::max<size_t>(devices.size(), 1));
  std::vector<PlanNumbers> result;
  for (const Schedule& schedule : schedules) {
    PlanNumbers graph_numbers{.plan_lanes = static_cast<uint32_t>(plan.lanes.size())};
    for (const schedule::Lane& lane : schedule.lanes) {
      graph_numbers.lanes.push_back(numbers[KeyOf(lane)]);
    }
    result.push_back(std::move(graph_numbers));
  }
  return result;
}

// The lanes that share a communicator over nccl. A lane for one peer shares it with that peer's
// lane for this device, and with no other. A lane without a peer shares one with all such lanes
// that send or receive. A graph without overlap sends in other lanes than one with overlap, and a
// communicator is used by one lane of each device: so there is one communicator for either.
struct CommunicatorKey {
  bool overlap;
  std::vector<uint32_t> pair;  // plan lanes, sorted
  auto operator<=>(const CommunicatorKey&) const = default;
};
CommunicatorKey KeyOfCommunicator(const Schedule& schedule, const PlanNumbers& numbers,
                                  const schedule::Channel& channel) {
  CommunicatorKey key{schedule.overlap, {}};
  if (schedule.lanes[channel.from].peer.valid()) {
    key.pair = {numbers.lanes[channel.from.index], numbers.lanes[channel.to.index]};
    std::sort(key.pair.begin(), key.pair.end());
  }
  return key;
}

// Numbers the channels of each graph, but for those whose messages are broadcasts.
void NumberChannels(const graph::Module& module, const std::vector<Schedule>& schedules,
                    std::vector<PlanNumbers>& numbers) {
  for (size_t i = 0; i < schedules.size(); ++i) {
    uint32_t next = 0;
    for (schedule::ChannelId id : schedules[i].channels.Ids()) {
      const bool is_broadcast = schedule::IsBroadcast(module, schedules[i], id);
      numbers[i].channels.push_back(is_broadcast ? plan::kNone : next++);
    }
  }
}

// Returns whether a channel is one of the plan's whose ends share a communicator.
bool HasCommunicator(const Schedule& schedule, const PlanNumbers& numbers,
                     schedule::ChannelId id) {
  return schedule.channels[id].transport == TransportKind::kNccl &&
         numbers.channels[id.index] != plan::kNone;
}

void EmitCommunicators(const std::vector<Schedule>& schedules, std::vector<PlanNumbers>& numbers,
                       plan::Plan& plan) {
  std::map<CommunicatorKey, std::set<uint32_t>, std::greater<>> members;  // with overlap first
  for (size_t i = 0; i < schedules.size(); ++i) {
    for (schedule::ChannelId id : schedules[i].channels.Ids()) {
      if (!HasCommunicator(schedules[i], numbers[i], id)) continue;
      const schedule::Channel& channel = schedules[i].channels[id];
      std::set<uint32_t>& here = members[KeyOfCommunicator(schedules[i], numbers[i], channel)];
      here.insert(numbers[i].lanes[channel.from.index]);
      here.insert(numbers[i].lanes[channel.to.index]);
    }
  }
  std::map<CommunicatorKey, uint32_t> communicators;
  for (const auto& [key, lanes] : members) {
    const auto communicator = static_cast<uint32_t>(plan.communicators.size());
    communicators[key] = communicator;
    plan.communicators.emplace_back(static_cast<uint32_t>(plan.members.size()),
                                    static_cast<uint32_t>(lanes.size()));
    plan.members.insert(plan.members.end(), lanes.begin(), lanes.end());
  }
  for (size_t i = 0; i < schedules.size(); ++i) {
    for (schedule::ChannelId id : schedules[i].channels.Ids()) {
      numbers[i].communicators.push_back(
          HasCommunicator(schedules[i], numbers[i], id)
              ? communicators.at(
                    KeyOfCommunicator(schedules[i], numbers[i], schedules[i].channels[id]))
              : plan::kNone);
    }
  }
}

// Makes one communicator for each list of lanes that make collectives together, in the order in
// which the graphs first need them: every process that creates them in this order does so in the
// same one. The two lanes of a channel whose messages are broadcasts are such a list.
void EmitGroups(const std::vector<Schedule>& schedules, std::vector<PlanNumbers>& numbers,
                plan::Plan& plan) {
  std::map<std::vector<uint32_t>, uint32_t> known;
  const auto number_of = [&](const std::vector<uint32_t>& members) {
    const auto next = static_cast<uint32_t>(plan.communicators.size());
    const auto [it, is_new] = known.try_emplace(members, next);
    if (is_new) {
      plan.communicators.emplace_back(static_cast<uint32_t>(plan.members.size()),
                                      static_cast<uint32_t>(members.size()));
      plan.members.insert(plan.members.end(), members.begin(), members.end());
    }
    return it->second;
  };
  for (size_t i = 0; i < schedules.size(); ++i) {
    const Schedule& schedule = schedules[i];
    for (const schedule::Group& group : schedule.groups) {
      std::vector<uint32_t> members;
      for (schedule::LaneId lane : group.lanes) members.push_back(numbers[i].lanes[lane.index]);
      numbers[i].groups.push_back(number_of(members));
    }
    for (schedule::ChannelId id : schedule.channels.Ids()) {
      if (numbers[i].channels[id.index] != plan::kNone) continue;
      const schedule::Channel& channel = schedule.channels[id];
      const auto [first, second] = std::minmax(numbers[i].lanes[channel.from.index],
                                               numbers[i].lanes[channel.to.index]);
      numbers[i].communicators[id.index] = number_of({first, second});
    }
  }
}

// Plans that give an actor the same digest may use the same living state.
uint64_t LayoutDigest(const plan::Actor& actor) {
  std::string text = actor.class_name;
  for (const auto& state : actor.states) {
    text += fmt::format("\n{} {} {} {}", state->name, static_cast<int>(state->dtype),
                        state->offset, state->bytes);
    for (int64_t dim : state->dims) text += fmt::format(" {}", dim);
  }
  return llvm::xxHash64(text);
}

void EmitActors(const graph::Module& module, plan::Plan& plan) {
  for (graph::InstanceId id : module.instances.Ids()) {
    const graph::Instance& instance = module.instances[id];
    const schedule::StateLayout layout = schedule::LayOutState(module, id);
    auto actor = std::make_unique<plan::Actor>();
    actor->name = instance.name;
    actor->class_name = instance.actor;
    actor->device = instance.device.index;
    actor->state_bytes = layout.bytes;
    for (size_t i = 0; i < layout.states.size(); ++i) {
      const graph::State& state = module.states[layout.states[i]];
      auto out = std::make_unique<plan::State>();
      out->name = state.name;
      out->dtype = emit::PlanDType(state.type.dtype);
      for (const graph::Dim& dim : state.type.dims) out->dims.push_back(dim.extent);
      out->offset = layout.offsets[i];
      out->bytes = state.type.bytes();
      out->copies = state.copies;
      actor->states.push_back(std::move(out));
    }
    actor->layout = LayoutDigest(*actor);
    plan.actors.push_back(std::move(actor));
  }
}

// Computes SHA-1 over paths and texts, each with its length. It tells plans apart; it protects
// nothing.
std::vector<uint8_t> Digest(const Sources& sources) {
  llvm::SHA1 hash;
  for (size_t i = 0; i < sources.size(); ++i) {
    const Source& source = sources[SourceId(i)];
    hash.update(fmt::format("{} {}\n", source.path.size(), source.text.size()));
    hash.update(source.path);
    hash.update(source.text);
  }
  const llvm::StringRef digest = hash.final();
  return {digest.bytes_begin(), digest.bytes_end()};
}

}  // namespace

// What the compiler lets through, a plan may be.
static_assert(kMaxOperands <= std::numeric_limits<decltype(plan::Instruction().inputs())>::max());
static_assert(kMaxFusedSteps <= plan::kMaxTemporaries);
static_assert(kMaxFusedOperands <= plan::kMaxInplace);

std::unique_ptr<plan::Plan> Emit(const graph::Module& module,
                                 const std::vector<Schedule>& schedules,
                                 const EmitOptions& options) {
  CGRAPH_CHECK(schedules.size() == module.graphs.size() + 1, "emit", "a schedule for every graph");
  auto plan = std::make_unique<plan::Plan>();
  plan->format = plan::kFormat;
  plan->compiler = options.compiler;
  if (options.sources) plan->source_digest = Digest(*options.sources);
  for (const auto& [name, value] : module.parameters) {
    plan->parameters.push_back(std::make_unique<plan::Parameter>());
    plan->parameters.back()->name = name;
    plan->parameters.back()->value = value;
  }
  plan->topology =
      options.topology.empty() ? cost::AssumedTopology().name : options.topology;
  EmitDevices(module, *plan);
  EmitActors(module, *plan);
  std::vector<PlanNumbers> numbers = EmitLanes(schedules, *plan);
  NumberChannels(module, schedules, numbers);
  EmitCommunicators(schedules, numbers, *plan);
  EmitGroups(schedules, numbers, *plan);

  Pools pools(*plan, options.sources);
  plan->start = EmitGraph(module, module.start, schedules[0], numbers[0], pools);
  for (size_t i = 0; i < module.graphs.size(); ++i) {
    plan->graphs.push_back(
        EmitGraph(module, module.graphs[i], schedules[i + 1], numbers[i + 1], pools));
    emit::MarkCaptures(*plan, *plan->graphs.back());
  }
  return plan;
}

}  // namespace cgraph
