// Lower: every value gets a place in memory wherever it is read, and every op, transfer, copy, take
// and give becomes a step of one lane (a transfer of two).
//
// A value lies at its home, and a use elsewhere makes a replica there, once per destination and
// transport; where the transport is `local` the consumer reads the producer's memory. Extents are
// values of their own: whoever touches a tensor with a symbol in its type reads the symbol's extent
// on its own device, so the extent travels there first. State is touched by its actor's compute
// lane only: what leaves it is first copied by that lane.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "compiler/base/check.h"
#include "compiler/cost/cost.h"
#include "compiler/graph/transports.h"
#include "compiler/schedule/passes.h"

namespace cgraph::schedule {
namespace {

using graph::DeviceId;
using graph::OpId;
using graph::SymbolId;
using graph::Value;
using graph::ValueId;

const DeviceId kCaller(0);

class Lowering {
 public:
  Lowering(const graph::Module& module, const graph::Graph& graph, CommLanes comm_lanes,
           Schedule& schedule)
      : module_(module), graph_(graph), comm_lanes_(comm_lanes), schedule_(schedule) {}

  void Run() {
    FindLastOps();
    FindDirectOutputs();
    for (const graph::Port& port : graph_.inputs) ports_.insert(port.use.value);
    for (uint32_t port = 0; port < graph_.inputs.size(); ++port) AddTake(port);
    for (OpId op : graph_.ops.Ids()) AddOp(op);
    for (uint32_t port = 0; port < graph_.outputs.size(); ++port) AddGive(port);
  }

 private:
  // ---- facts about the graph --------------------------------------------------------------------

  // Whose bytes a value is: a view's base.
  ValueId Root(ValueId id) const {
    const Value& value = graph_.values[id];
    return value.base.valid() ? value.base : id;
  }

  void FindLastOps() {
    for (OpId id : graph_.ops.Ids()) last_op_[graph_.ops[id].call] = id.index;
  }
  // Place::call of what the call of `op` does, and of what follows from it.
  uint32_t PlaceOf(OpId op) const { return last_op_.at(graph_.ops[op].call) + 1; }
  uint32_t MadeAt(ValueId id) const {
    const OpId producer = graph_.values[Root(id)].producer;
    return producer.valid() ? PlaceOf(producer) : 0;
  }
  graph::CallId MadeBy(ValueId id) const {
    const OpId producer = graph_.values[Root(id)].producer;
    return producer.valid() ? graph_.ops[producer].call : graph::CallId();
  }

  // Results that an op may write straight into the output's memory: made where the caller's memory
  // can be reached, and read by nobody outside their call, since the caller owns that memory as
  // soon as it is given.
  void FindDirectOutputs() {
    std::set<ValueId> read_elsewhere;
    for (const graph::Symbol& symbol : graph_.symbols) read_elsewhere.insert(Root(symbol.extent));
    for (const graph::Op& op : graph_.ops) {
      for (const graph::Use& use : op.operands) {
        const ValueId root = Root(use.value);
        if (MadeBy(root) != op.call) read_elsewhere.insert(root);
      }
    }
    for (const graph::Port& port : graph_.outputs) {
      const ValueId id = port.use.value;
      const Value& value = graph_.values[id];
      if (value.base.valid() || value.storage != Value::kTemporary) continue;
      if (graph_.ops[value.producer].collective) continue;  // these write slots only
      const TransportChoice choice = ChooseTransport(module_, value.home, kCaller, port.use.via);
      const bool local = choice.possible && choice.transport == Transport::kLocal;
      if (local && !read_elsewhere.count(id)) direct_.insert(id);
    }
  }

  bool IsGpu(DeviceId id) const { return module_.devices[id].kind == graph::DeviceKind::kGpu; }
  const Buffer& BufferOf(ReplicaId id) const {
    return schedule_.buffers[schedule_.replicas[id].buffer];
  }

  // ---- tables -----------------------------------------------------------------------------------

  LaneId LaneOf(DeviceId device, LaneKind kind, DeviceId peer = {}) {
    const bool host = kind == LaneKind::kTake || kind == LaneKind::kGive;
    if (!host && !schedule_.overlap) kind = LaneKind::kCompute, peer = {};
    const auto [it, is_new] = lanes_.try_emplace({device, kind, peer});
    if (is_new) it->second = schedule_.lanes.Add({.device = device, .kind = kind, .peer = peer});
    return it->second;
  }
  // Of one end of a transfer.
  LaneId CommLaneOf(DeviceId device, DeviceId peer, bool sends) {
    switch (comm_lanes_) {
      case CommLanes::kOne: return LaneOf(device, LaneKind::kComm);
      case CommLanes::kPeer: return LaneOf(device, LaneKind::kComm, peer);
      case CommLanes::kEdge: break;
    }
    return LaneOf(device, sends ? LaneKind::kSend : LaneKind::kReceive, peer);
  }

  ChannelId ChannelOf(const Journey& via, LaneId from, LaneId to) {
    const auto [it, is_new] = channels_.try_emplace({via, via.capacity, from, to});
    const uint32_t capacity = std::max(via.capacity, 1u);
    if (is_new) it->second = schedule_.channels.Add({via, from, to, capacity});
    return it->second;
  }

  GroupId GroupOf(Group group) {
    const auto [it, is_new] = groups_.try_emplace(group.lanes);
    if (is_new) it->second = schedule_.groups.Add(std::move(group));
    return it->second;
  }

  ReplicaId AddReplica(ValueId value, Space space, DeviceId device) {
    Buffer buffer{.space = space, .device = device, .bytes = graph_.values[value].type.bytes()};
    if (space == Space::kState) buffer.state = graph_.values[value].state;
    if (space == Space::kConstant) buffer.constant = value;
    return schedule_.replicas.Add({.value = value, .buffer = schedule_.buffers.Add(buffer)});
  }

  // Later steps are found by their place, so the order in which they are added means nothing.
  Step& AddStep(Step::Kind kind, LaneId lane, Step::Place place) {
    const StepId id = schedule_.steps.Add({.kind = kind, .lane = lane, .place = place});
    return schedule_.steps[id];
  }

  // ---- values where they are made ---------------------------------------------------------------

  Space HomeSpace(ValueId id) const {
    const Value& value = graph_.values[id];
    switch (value.storage) {
      case Value::kTemporary: return direct_.count(id) ? Space::kOutput : Space::kSlot;
      case Value::kState: return Space::kState;
      case Value::kInput: return ports_.count(id) ? Space::kInput : Space::kSlot;
      case Value::kConstant: return Space::kConstant;
    }
    return Space::kSlot;
  }

  // Constants are at home wherever they are used: on `device`.
  ReplicaId AtHome(ValueId id, DeviceId device) {
    const Value& value = graph_.values[id];
    const ValueId root = Root(id);
    const Value& owner = graph_.values[root];
    const bool constant = owner.storage == Value::kConstant;
    const auto key = std::make_pair(id, constant ? device : owner.home);
    if (const auto found = home_.find(key); found != home_.end()) return found->second;
    ReplicaId replica;
    if (root != id) {
      const BufferId buffer = schedule_.replicas[AtHome(root, device)].buffer;
      replica = schedule_.replicas.Add({.value = id, .buffer = buffer, .offset = value.offset});
    } else if (owner.storage == Value::kState) {
      // Every version of a state variable is the same memory.
      const auto [it, is_new] = states_.try_emplace(value.state);
      if (is_new) {
        replica = AddReplica(id, Space::kState, value.home);
        it->second = schedule_.replicas[replica].buffer;
      } else {
        replica = schedule_.replicas.Add({.value = id, .buffer = it->second});
      }
    } else {
      const Space space = HomeSpace(id);
      replica = AddReplica(id, space, space == Space::kOutput ? kCaller : key.second);
    }
    return home_[key] = replica;
  }

  // A state value as others than its own compute lane may read it.
  ReplicaId Snapshot(ValueId id) {
    const auto [it, is_new] = snapshots_.try_emplace(id);
    if (is_new) {
      const DeviceId home = graph_.values[Root(id)].home;
      const ReplicaId from = AtHome(id, home);
      it->second = AddReplica(id, Space::kSlot, home);
      AddCopy(from, it->second, LaneOf(home, LaneKind::kCompute),
              {.call = MadeAt(id), .order = Step::Place::kExtents});
    }
    return it->second;
  }

  // ---- values elsewhere -------------------------------------------------------------------------

  // The replica of a value that `device` reads. `place` says for whom: its class and consumer.
  // `space` is where a host copy made now puts it.
  ReplicaId Reach(const graph::Use& use, DeviceId device, Step::Place place,
                  Space space = Space::kSlot) {
    const Value& root = graph_.values[Root(use.value)];
    if (root.storage == Value::kConstant) return AtHome(use.value, device);
    const TransportChoice choice = ChooseTransport(module_, root.home, device, use.via);
    CGRAPH_CHECK(choice.possible, "schedule", "an edge that no transport serves: " + choice.reason);
    if (root.home != device) Remember(use, root.home, device, choice);

    const bool leaves = place.order != Step::Place::kOps || root.home != device;
    const ReplicaId source = root.storage == Value::kState && leaves ? Snapshot(use.value)
                                                                     : AtHome(use.value, device);
    if (choice.transport == Transport::kLocal) return source;
    Journey via = use.via;
    via.transport = choice.transport;
    const auto key = std::make_tuple(use.value, device, choice.transport, via.capacity);
    const auto [it, is_new] = remote_.try_emplace(key);
    if (!is_new) return it->second;
    place.call = MadeAt(use.value);
    if (place.order != Step::Place::kExtents) place.order = Step::Place::kValues;
    place.hop = 1;
    const ReplicaId target =
        choice.transport == Transport::kHost
            ? CopyThroughHost(source, root.home, device, place, space)
            : Send(source, root.home, device, place, via);
    remote_[key] = target;
    return target;
  }

  void Remember(const graph::Use& use, DeviceId from, DeviceId to, const TransportChoice& choice) {
    if (!edges_.insert({use.value, to, use.via}).second) return;
    schedule_.edges.push_back({use.value, from, to, use.via, choice.transport, choice.reason});
  }

  // The device that copies is the one that has memory of its own; between two of them the value is
  // staged in the caller's memory.
  ReplicaId CopyThroughHost(ReplicaId source, DeviceId from, DeviceId to, Step::Place place,
                            Space space) {
    const ValueId value = schedule_.replicas[source].value;
    if (IsGpu(from) && IsGpu(to)) {
      const ReplicaId staged = AddReplica(value, Space::kSlot, kCaller);
      AddCopy(source, staged, LaneOf(from, LaneKind::kCopyOut), place);
      source = staged;
      ++place.hop;
    }
    const ReplicaId target = AddReplica(value, space, to);
    const bool out = IsGpu(from) && !IsGpu(to);
    AddCopy(source, target,
            out ? LaneOf(from, LaneKind::kCopyOut) : LaneOf(to, LaneKind::kCopyIn), place);
    return target;
  }

  void AddCopy(ReplicaId from, ReplicaId to, LaneId lane, Step::Place place) {
    const ValueId value = schedule_.replicas[from].value;
    const DeviceId device = schedule_.lanes[lane].device;
    std::vector<ReplicaId> extents = Extents({from}, device, place.consumer);
    Step& step = AddStep(Step::kCopy, lane, place);
    step.call = MadeBy(value);
    step.inputs = {from};
    step.outputs = {to};
    step.extents = std::move(extents);
    const cost::Topology& topology = cost::AssumedTopology();
    const int64_t bytes = graph_.values[value].type.bytes();
    if (!IsGpu(device)) {
      step.expected_ps = cost::TransferPicoseconds(topology.local_copy, bytes);
    } else if (BufferOf(from).device == BufferOf(to).device) {
      step.expected_ps = cost::KernelPicoseconds(topology.gpu, 0, 2 * bytes);
    } else {
      step.expected_ps = cost::TransferPicoseconds(topology.host, bytes);
    }
  }

  ReplicaId Send(ReplicaId source, DeviceId from, DeviceId to, Step::Place place,
                 const Journey& via) {
    const ValueId value = schedule_.replicas[source].value;
    const ReplicaId target = AddReplica(value, Space::kSlot, to);
    std::vector<ReplicaId> extents = Extents({source}, from, place.consumer);
    std::vector<ReplicaId> to_extents = Extents({source}, to, place.consumer);
    const LaneId lane = CommLaneOf(from, to, /*sends=*/true);
    const LaneId to_lane = CommLaneOf(to, from, /*sends=*/false);
    Step& step = AddStep(Step::kTransfer, lane, place);
    step.to_lane = to_lane;
    step.channel = ChannelOf(via, lane, to_lane);
    step.call = MadeBy(value);
    step.inputs = {source};
    step.outputs = {target};
    step.extents = std::move(extents);
    step.to_extents = std::move(to_extents);
    const cost::Topology& topology = cost::AssumedTopology();
    step.expected_ps =
        cost::TransferPicoseconds(via == Transport::kNccl ? topology.nccl : topology.shm,
                                  graph_.values[value].type.bytes());
    return target;
  }

  // ---- extents ----------------------------------------------------------------------------------

  ReplicaId ExtentAt(SymbolId symbol, DeviceId device, uint32_t consumer) {
    const auto key = std::make_pair(symbol, device);
    if (const auto found = extents_.find(key); found != extents_.end()) return found->second;
    const graph::Use use{.value = graph_.symbols[symbol].extent};
    const Step::Place place{.order = Step::Place::kExtents, .consumer = consumer};
    const ReplicaId replica = Reach(use, device, place);
    schedule_.extents.push_back({symbol, device, replica});
    return extents_[key] = replica;
  }

  // The extents that `device` reads to touch these values.
  std::vector<ReplicaId> Extents(const std::vector<ReplicaId>& touched, DeviceId device,
                                 uint32_t consumer) {
    std::set<SymbolId> symbols;
    for (ReplicaId id : touched) {
      for (const graph::Dim& dim : graph_.values[schedule_.replicas[id].value].type.dims) {
        if (dim.symbol.valid()) symbols.insert(dim.symbol);
      }
    }
    std::vector<ReplicaId> extents;
    for (SymbolId symbol : symbols) extents.push_back(ExtentAt(symbol, device, consumer));
    return extents;
  }

  // ---- ports and ops ----------------------------------------------------------------------------

  void AddTake(uint32_t port) {
    const ValueId value = graph_.inputs[port].use.value;
    std::vector<ReplicaId> made = {AtHome(value, kCaller)};
    for (const graph::Dim& dim : graph_.values[value].type.dims) {
      if (!dim.symbol.valid() || !taken_.insert(dim.symbol).second) continue;
      const ValueId extent = graph_.symbols[dim.symbol].extent;
      if (!ports_.count(extent)) made.push_back(AtHome(extent, kCaller));
    }
    std::vector<ReplicaId> extents = Extents(made, kCaller, 0);
    std::erase_if(extents, [&](ReplicaId id) {
      return std::find(made.begin(), made.end(), id) != made.end();
    });
    schedule_.inputs.push_back(made[0]);
    Step& step = AddStep(Step::kTake, LaneOf(kCaller, LaneKind::kTake), {.consumer = port});
    step.port = port;
    step.outputs = std::move(made);
    step.extents = std::move(extents);
  }

  void AddOp(OpId id) {
    const graph::Op& op = graph_.ops[id];
    if (op.collective) return AddCollective(id);
    const Step::Place place{.call = PlaceOf(id), .consumer = id.index};
    std::vector<ReplicaId> inputs, outputs;
    for (const graph::Use& use : op.operands) inputs.push_back(Reach(use, op.device, place));
    for (ValueId result : op.results) outputs.push_back(AtHome(result, op.device));
    std::vector<ReplicaId> touched = inputs;
    touched.insert(touched.end(), outputs.begin(), outputs.end());
    std::vector<ReplicaId> extents = Extents(touched, op.device, id.index);
    const bool load = op.kernel == "load";
    Step& step = AddStep(load ? Step::kLoad : Step::kCall, LaneOf(op.device, LaneKind::kCompute),
                         place);
    step.op = id;
    step.call = op.call;
    step.inputs = std::move(inputs);
    step.outputs = std::move(outputs);
    step.extents = std::move(extents);
    const cost::Topology& topology = cost::AssumedTopology();
    step.expected_ps = cost::KernelPicoseconds(IsGpu(op.device) ? topology.gpu : topology.cpu,
                                               op.flops, op.bytes);
  }

  // One step with a part at every participant. What flows in is brought there first; a root that
  // is not where the value lives reads it like any other consumer.
  void AddCollective(OpId id) {
    using Traits = CollectiveTraits;
    const graph::Op& op = graph_.ops[id];
    const graph::Collective& collective = *op.collective;
    const Traits& traits = TraitsOf(collective.kind);
    const size_t members = collective.participants.size();
    const TransportChoice choice =
        ChooseGroupTransport(module_, collective.participants, collective.via);
    CGRAPH_CHECK(choice.possible, "schedule", "a collective that nothing carries: " + choice.reason);
    schedule_.meetings.push_back({id, choice.transport, choice.reason});
    const bool through_host = choice.transport == Transport::kHost;
    if (through_host && traits.from != Traits::kNobody) return AddCollectiveAtCaller(id);
    const Step::Place place{.call = PlaceOf(id), .consumer = id.index};
    std::vector<Part> parts(members);
    Group group;
    int64_t bytes = 0;
    for (size_t rank = 0; rank < members; ++rank) {
      const DeviceId device = collective.participants[rank];
      Part& part = parts[rank];
      group.lanes.push_back(LaneOf(device, LaneKind::kComm));
      const auto share = [&](Traits::Who who, size_t values) -> std::pair<size_t, size_t> {
        if (who == Traits::kEach) return {rank * (values / members), values / members};
        return {0, rank == collective.root ? values : 0};
      };
      const auto [first_input, inputs] = share(traits.from, op.operands.size());
      const auto [first_output, outputs] = share(traits.to, op.results.size());
      for (size_t i = 0; i < inputs; ++i) {
        const graph::Use& use = op.operands[first_input + i];
        part.inputs.push_back(Reach(use, device, place));
        if (rank == collective.root) bytes += graph_.values[use.value].type.bytes();
      }
      for (size_t i = 0; i < outputs; ++i) {
        part.outputs.push_back(AtHome(op.results[first_output + i], device));
      }
      std::vector<ReplicaId> touched = part.inputs;
      touched.insert(touched.end(), part.outputs.begin(), part.outputs.end());
      part.extents = Extents(touched, device, id.index);
    }
    Step& step = AddStep(Step::kCollective, group.lanes[collective.root], place);
    step.op = id;
    step.call = op.call;
    step.group = GroupOf(std::move(group));
    step.by = through_host ? Transport::kShm : choice.transport;  // a barrier moves nothing
    step.parts = std::move(parts);
    const cost::Topology& topology = cost::AssumedTopology();
    step.expected_ps = cost::CollectivePicoseconds(
        choice.transport == Transport::kNccl ? topology.nccl : topology.shm, collective.kind,
        members, bytes);
  }

  // Through host memory: everything is brought to the caller, who computes and hands out.
  void AddCollectiveAtCaller(OpId id) {
    const graph::Op& op = graph_.ops[id];
    const Step::Place place{.call = PlaceOf(id), .consumer = id.index};
    std::vector<ReplicaId> inputs, staged;
    for (const graph::Use& use : op.operands) {
      inputs.push_back(Reach({.value = use.value, .via = Transport::kAuto}, kCaller, place));
    }
    for (ValueId result : op.results) {
      staged.push_back(AddReplica(result, Space::kSlot, kCaller));
    }
    std::vector<ReplicaId> touched = inputs;
    touched.insert(touched.end(), staged.begin(), staged.end());
    std::vector<ReplicaId> extents = Extents(touched, kCaller, id.index);
    Step& step = AddStep(Step::kCall, LaneOf(kCaller, LaneKind::kCompute), place);
    step.op = id;
    step.call = op.call;
    step.inputs = std::move(inputs);
    step.outputs = staged;
    step.extents = std::move(extents);
    int64_t bytes = 0;
    for (ReplicaId replica : touched) bytes += BufferOf(replica).bytes;
    step.expected_ps = cost::KernelPicoseconds(cost::AssumedTopology().cpu, 0, bytes);
    for (size_t i = 0; i < staged.size(); ++i) {
      const DeviceId home = graph_.values[op.results[i]].home;
      ReplicaId target = staged[i];
      if (home != kCaller) {
        target = AddReplica(op.results[i], Space::kSlot, home);
        const Step::Place after{place.call, Step::Place::kValues, id.index, /*hop=*/1};
        AddCopy(staged[i], target, LaneOf(home, LaneKind::kCopyIn), after);
      }
      home_[{op.results[i], home}] = target;
    }
  }

  void AddGive(uint32_t port) {
    const graph::Use& use = graph_.outputs[port].use;
    const uint32_t consumer = static_cast<uint32_t>(graph_.ops.size()) + port;
    const Step::Place place{
        .call = MadeAt(use.value), .order = Step::Place::kGives, .consumer = consumer};
    ReplicaId given = Reach(use, kCaller, place, Space::kOutput);
    const Buffer buffer = BufferOf(given);
    if (buffer.space != Space::kOutput ||
        !given_.insert(schedule_.replicas[given].buffer).second) {
      const ReplicaId copied = AddReplica(use.value, Space::kOutput, kCaller);
      const Step::Place copy_place{place.call, Step::Place::kValues, consumer, /*hop=*/3};
      AddCopy(given, copied, LaneOf(buffer.device, LaneKind::kCopyOut), copy_place);
      given = copied;
    }
    std::vector<ReplicaId> extents = Extents({given}, kCaller, consumer);
    schedule_.outputs.push_back(given);
    Step& step = AddStep(Step::kGive, LaneOf(kCaller, LaneKind::kGive), place);
    step.port = port;
    step.inputs = {given};
    step.extents = std::move(extents);
  }

  const graph::Module& module_;
  const graph::Graph& graph_;
  const CommLanes comm_lanes_;
  Schedule& schedule_;

  std::map<graph::CallId, uint32_t> last_op_;
  std::set<ValueId> direct_;  // temporaries that are written straight into an output
  std::set<ValueId> ports_;   // values that are inputs
  std::set<SymbolId> taken_;  // symbols whose extent a take has made
  std::set<BufferId> given_;  // outputs that have their port

  std::map<std::tuple<DeviceId, LaneKind, DeviceId>, LaneId> lanes_;
  std::map<std::tuple<Transport, uint32_t, LaneId, LaneId>, ChannelId> channels_;
  std::map<std::vector<LaneId>, GroupId> groups_;
  std::map<std::pair<ValueId, DeviceId>, ReplicaId> home_;
  std::map<graph::StateId, BufferId> states_;
  std::map<ValueId, ReplicaId> snapshots_;
  std::map<std::tuple<ValueId, DeviceId, Transport, uint32_t>, ReplicaId> remote_;
  std::map<std::pair<SymbolId, DeviceId>, ReplicaId> extents_;
  std::set<std::tuple<ValueId, DeviceId, Transport>> edges_;
};

}  // namespace

void Lower(const graph::Module& module, const graph::Graph& graph, CommLanes comm_lanes,
           Schedule& schedule) {
  Lowering(module, graph, comm_lanes, schedule).Run();
}

}  // namespace cgraph::schedule
