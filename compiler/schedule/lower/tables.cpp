#include "compiler/schedule/lower/tables.h"

#include <algorithm>

namespace cgraph::schedule {

using graph::DeviceId;
using graph::ValueId;

LaneId Tables::LaneOf(DeviceId device, LaneKind kind, DeviceId peer) {
  const bool host = IsHost(kind);
  if (!host && !schedule_.overlap) kind = LaneKind::kCompute, peer = {};
  const auto [it, is_new] = lanes_.try_emplace({device, kind, peer});
  if (is_new) it->second = schedule_.lanes.Add({.device = device, .kind = kind, .peer = peer});
  return it->second;
}

LaneId Tables::CommLaneOf(DeviceId device, DeviceId peer, bool sends) {
  switch (comm_lanes_) {
    case CommLanes::kOne: return LaneOf(device, LaneKind::kComm);
    case CommLanes::kPeer: return LaneOf(device, LaneKind::kComm, peer);
    case CommLanes::kEdge: break;
  }
  return LaneOf(device, sends ? LaneKind::kSend : LaneKind::kReceive, peer);
}

ChannelId Tables::ChannelOf(const TransportRequest& via, LaneId from, LaneId to) {
  const auto [it, is_new] = channels_.try_emplace({via, from, to});
  const uint32_t capacity = std::max(via.capacity, 1u);
  if (is_new) it->second = schedule_.channels.Add({via.transport, from, to, capacity});
  return it->second;
}

GroupId Tables::GroupOf(Group group) {
  const auto [it, is_new] = groups_.try_emplace(group.lanes);
  if (is_new) it->second = schedule_.groups.Add(std::move(group));
  return it->second;
}

ValueLocationId Tables::AddLocation(ValueId value, Space space, DeviceId device) {
  Buffer buffer{.space = space, .device = device, .bytes = graph_.values[value].type.bytes()};
  if (space == Space::kState) buffer.state = graph_.values[value].state;
  if (space == Space::kConstant) buffer.constant = value;
  return schedule_.locations.Add({.value = value, .buffer = schedule_.buffers.Add(buffer)});
}

Step& Tables::AddStep(Step::Kind kind, LaneId lane, Step::ProgramPosition place) {
  const StepId id = schedule_.steps.Add({.kind = kind, .lane = lane, .place = place});
  return schedule_.steps[id];
}

}  // namespace cgraph::schedule
