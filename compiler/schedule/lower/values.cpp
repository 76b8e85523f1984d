#include "compiler/schedule/lower/values.h"

#include <algorithm>

#include "compiler/base/check.h"

namespace cgraph::schedule {

using graph::DeviceId;
using graph::SymbolId;
using graph::Value;
using graph::ValueId;

Values::Values(const graph::Module& module, const graph::Graph& graph, const Facts& facts,
               Tables& tables, Schedule& schedule)
    : module_(module), graph_(graph), facts_(facts), tables_(tables), schedule_(schedule) {
  for (const graph::Bucket& bucket : graph.buckets) {
    for (ValueId id : bucket.values) buckets_[{id, bucket.to, bucket.via}] = &bucket;
  }
}

// ---- where they are made ------------------------------------------------------------------------

ValueLocationId Values::AtHome(ValueId id, DeviceId device) {
  const Value& value = graph_.values[id];
  const ValueId root = RootOf(graph_, id);
  const Value& owner = graph_.values[root];
  const bool constant = owner.storage == Value::kConstant;
  const auto key = std::make_pair(id, constant ? device : owner.home);
  if (const auto found = home_.find(key); found != home_.end()) return found->second;
  ValueLocationId location;
  if (root != id) {
    const BufferId buffer = schedule_.locations[AtHome(root, device)].buffer;
    location = schedule_.locations.Add({.value = id, .buffer = buffer, .offset = value.offset});
  } else if (owner.storage == Value::kState) {
    // Every version of a state variable is the same memory.
    const auto [it, is_new] = states_.try_emplace(value.state);
    if (is_new) {
      location = tables_.AddLocation(id, Space::kState, value.home);
      it->second = schedule_.locations[location].buffer;
    } else {
      location =
          schedule_.locations.Add({.value = id, .buffer = it->second, .offset = value.offset});
    }
  } else {
    const Space space = facts_.HomeSpace(id);
    location = tables_.AddLocation(id, space, space == Space::kOutput ? kCaller : key.second);
  }
  return home_[key] = location;
}

void Values::SetHome(ValueId id, DeviceId device, ValueLocationId location) {
  home_[{id, device}] = location;
}

// Makes a copy of a state that is written for readers other than its own compute lane.
ValueLocationId Values::Snapshot(ValueId id) {
  const auto [it, is_new] = snapshots_.try_emplace(id);
  if (is_new) {
    const DeviceId home = graph_.values[RootOf(graph_, id)].home;
    const ValueLocationId from = AtHome(id, home);
    it->second = tables_.AddLocation(id, Space::kSlot, home);
    AddCopy(from, it->second, tables_.LaneOf(home, LaneKind::kCompute),
            {.call = facts_.MadeAt(id), .order = Step::ProgramPosition::kExtents});
  }
  return it->second;
}

// ---- elsewhere ----------------------------------------------------------------------------------

ValueLocationId Values::MaterializeOn(const graph::Use& use, DeviceId device,
                                      Step::ProgramPosition place, Space space) {
  const Value& root = graph_.values[RootOf(graph_, use.value)];
  if (root.storage == Value::kConstant) return AtHome(use.value, device);
  const TransportChoice choice = ChooseTransport(module_, root.home, device, use.via.transport);
  CGRAPH_CHECK(choice.possible, "schedule", "an edge that no transport serves: " + choice.reason);
  if (root.home != device) Remember(use, root.home, device, choice);

  // What nothing overwrites can be read where it lies as long as it takes.
  const bool changes = root.storage == Value::kState && module_.states[root.state].written;
  const bool leaves = place.order != Step::ProgramPosition::kOps || root.home != device;
  const ValueLocationId source = changes && leaves ? Snapshot(use.value)
                                                   : AtHome(use.value, device);
  if (choice.transport == TransportKind::kLocal) return source;
  TransportRequest via = use.via;
  via.transport = choice.transport;
  const TransferKey key(use.value, device, via);
  if (const auto found = remote_.find(key); found != remote_.end()) return found->second;
  place.call = facts_.MadeAt(use.value);
  if (place.order != Step::ProgramPosition::kExtents) place.order = Step::ProgramPosition::kValues;
  place.hop = 1;
  if (const auto found = buckets_.find(key); found != buckets_.end()) {
    SendBucket(*found->second, place);
    return remote_.at(key);
  }
  const ValueLocationId target =
      choice.transport == TransportKind::kHost
          ? CopyThroughHost(source, root.home, device, place, space)
          : SendBy(use.relay, source, root.home, device, place, via);
  remote_[key] = target;
  return target;
}

// Sends directly, or by way of another gpu, whose communication lane receives and passes it on. A
// value that this gpu reads itself arrives there once, unless that one travels with others, perhaps
// later.
ValueLocationId Values::SendBy(DeviceId relay, ValueLocationId source, DeviceId from, DeviceId to,
                               Step::ProgramPosition place, const TransportRequest& via) {
  if (!relay.valid()) return Send({source}, from, to, place, via)[0];
  const TransferKey key(schedule_.locations[source].value, relay, via);
  ValueLocationId between;
  if (const auto found = remote_.find(key);
      found != remote_.end() && buckets_.count(key) == 0) {
    between = found->second;
  } else {
    between = Send({source}, from, relay, place, via)[0];
    if (buckets_.count(key) == 0) remote_[key] = between;
  }
  ++place.hop;
  return Send({between}, relay, to, place, via)[0];
}

// Sends a bucket as soon as the last of its values is made.
void Values::SendBucket(const graph::Bucket& bucket, Step::ProgramPosition place) {
  const DeviceId from = graph_.values[bucket.values[0]].home;
  std::vector<ValueLocationId> sources;
  for (ValueId id : bucket.values) {
    sources.push_back(AtHome(id, from));
    place.call = std::max(place.call, facts_.MadeAt(id));
  }
  const std::vector<ValueLocationId> targets = Send(sources, from, bucket.to, place, bucket.via);
  for (size_t i = 0; i < targets.size(); ++i) {
    remote_[{bucket.values[i], bucket.to, bucket.via}] = targets[i];
  }
}

void Values::Remember(const graph::Use& use, DeviceId from, DeviceId to,
                      const TransportChoice& choice) {
  if (!edges_.insert({use.value, to, use.via}).second) return;
  const TransportRequest chosen{.transport = choice.transport, .capacity = use.via.capacity};
  schedule_.edges.push_back({use.value, from, to, chosen, choice.reason, use.relay});
}

// Copies through the host. The copying device is the one that has memory of its own; between two
// such devices the value is staged in the caller's memory.
ValueLocationId Values::CopyThroughHost(ValueLocationId source, DeviceId from, DeviceId to,
                                        Step::ProgramPosition place, Space space) {
  const ValueId value = schedule_.locations[source].value;
  if (facts_.IsGpu(from) && facts_.IsGpu(to)) {
    const ValueLocationId staged = tables_.AddLocation(value, Space::kSlot, kCaller);
    AddCopy(source, staged, tables_.LaneOf(from, LaneKind::kCopyOut), place);
    source = staged;
    ++place.hop;
  }
  const ValueLocationId target = tables_.AddLocation(value, space, to);
  const bool out = facts_.IsGpu(from) && !facts_.IsGpu(to);
  AddCopy(source, target,
          out ? tables_.LaneOf(from, LaneKind::kCopyOut) : tables_.LaneOf(to, LaneKind::kCopyIn),
          place);
  return target;
}

void Values::AddCopy(ValueLocationId from, ValueLocationId to, LaneId lane,
                     Step::ProgramPosition place) {
  const ValueId value = schedule_.locations[from].value;
  const DeviceId device = schedule_.lanes[lane].device;
  std::vector<ValueLocationId> extents = Extents({from}, device, place.consumer);
  Step& step = tables_.AddStep(Step::kCopy, lane, place);
  step.call = MakerOf(graph_, value);
  step.inputs = {from};
  step.outputs = {to};
  step.extents = std::move(extents);
}

std::vector<ValueLocationId> Values::Send(const std::vector<ValueLocationId>& sources,
                                          DeviceId from, DeviceId to, Step::ProgramPosition place,
                                          const TransportRequest& via) {
  std::vector<ValueLocationId> targets;
  for (ValueLocationId source : sources) {
    const ValueId value = schedule_.locations[source].value;
    targets.push_back(tables_.AddLocation(value, Space::kSlot, to));
  }
  std::vector<ValueLocationId> extents = Extents(sources, from, place.consumer);
  std::vector<ValueLocationId> to_extents = Extents(sources, to, place.consumer);
  const LaneId lane = tables_.CommLaneOf(from, to, /*sends=*/true);
  const LaneId to_lane = tables_.CommLaneOf(to, from, /*sends=*/false);
  Step& step = tables_.AddStep(Step::kTransfer, lane, place);
  step.to_lane = to_lane;
  step.channel = tables_.ChannelOf(via, lane, to_lane);
  step.call = MakerOf(graph_, schedule_.locations[sources.back()].value);
  step.inputs = sources;
  step.outputs = targets;
  step.extents = std::move(extents);
  step.to_extents = std::move(to_extents);
  return targets;
}

ValueLocationId Values::ExtentAt(SymbolId symbol, DeviceId device, uint32_t consumer) {
  const auto key = std::make_pair(symbol, device);
  if (const auto found = extents_.find(key); found != extents_.end()) return found->second;
  const graph::Use use{.value = graph_.symbols[symbol].extent};
  const Step::ProgramPosition place{.order = Step::ProgramPosition::kExtents, .consumer = consumer};
  const ValueLocationId location = MaterializeOn(use, device, place);
  schedule_.extents.push_back({symbol, device, location});
  return extents_[key] = location;
}

std::vector<ValueLocationId> Values::Extents(const std::vector<ValueLocationId>& touched,
                                             DeviceId device, uint32_t consumer) {
  std::set<SymbolId> symbols;
  for (ValueLocationId id : touched) {
    for (const graph::Dim& dim : graph_.values[schedule_.locations[id].value].type.dims) {
      if (dim.symbol.valid()) symbols.insert(dim.symbol);
    }
  }
  std::vector<ValueLocationId> extents;
  for (SymbolId symbol : symbols) extents.push_back(ExtentAt(symbol, device, consumer));
  return extents;
}

}  // namespace cgraph::schedule
