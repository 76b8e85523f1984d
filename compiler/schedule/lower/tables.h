// The tables of a schedule while it is made: an entry that is asked for twice is added once.
#ifndef CGRAPH_COMPILER_SCHEDULE_LOWER_TABLES_H_
#define CGRAPH_COMPILER_SCHEDULE_LOWER_TABLES_H_

#include <map>
#include <tuple>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/schedule/ir.h"

namespace cgraph::schedule {

class Tables {
 public:
  Tables(const graph::Graph& graph, CommLanes comm_lanes, Schedule& schedule)
      : graph_(graph), comm_lanes_(comm_lanes), schedule_(schedule) {}

  LaneId LaneOf(graph::DeviceId device, LaneKind kind, graph::DeviceId peer = {});
  // Returns the lane of one end of a transfer.
  LaneId CommLaneOf(graph::DeviceId device, graph::DeviceId peer, bool sends);
  ChannelId ChannelOf(const TransportRequest& via, LaneId from, LaneId to);
  GroupId GroupOf(Group group);

  // Adds a location in a buffer of its own.
  ValueLocationId AddLocation(graph::ValueId value, Space space, graph::DeviceId device);
  // Adds a step. Later steps are sorted by their position, so the order in which they are added
  // means nothing.
  Step& AddStep(Step::Kind kind, LaneId lane, Step::ProgramPosition place);

  const Buffer& BufferOf(ValueLocationId id) const {
    return schedule_.buffers[schedule_.locations[id].buffer];
  }

 private:
  const graph::Graph& graph_;
  const CommLanes comm_lanes_;
  Schedule& schedule_;
  std::map<std::tuple<graph::DeviceId, LaneKind, graph::DeviceId>, LaneId> lanes_;
  std::map<std::tuple<TransportRequest, LaneId, LaneId>, ChannelId> channels_;
  std::map<std::vector<LaneId>, GroupId> groups_;
};

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_LOWER_TABLES_H_
