// Values: where values lie, at their homes and as locations wherever else they are read. A request
// for a value on a device returns a location there, and the steps that bring it are added once.
#ifndef CGRAPH_COMPILER_SCHEDULE_LOWER_VALUES_H_
#define CGRAPH_COMPILER_SCHEDULE_LOWER_VALUES_H_

#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "compiler/graph/transports.h"
#include "compiler/schedule/lower/facts.h"
#include "compiler/schedule/lower/tables.h"

namespace cgraph::schedule {

class Values {
 public:
  Values(const graph::Module& module, const graph::Graph& graph, const Facts& facts,
         Tables& tables, Schedule& schedule);

  // Returns the location where a value was made. Constants are at home wherever they are used: on
  // `device`.
  ValueLocationId AtHome(graph::ValueId id, graph::DeviceId device);
  // Sets the home of a value from now on: used where the caller computed it for another device.
  void SetHome(graph::ValueId id, graph::DeviceId device, ValueLocationId location);

  // Returns the location of a value that `device` reads. `place` says for whom: its class and
  // consumer. `space` is where a host copy made now puts it.
  ValueLocationId MaterializeOn(const graph::Use& use, graph::DeviceId device,
                                Step::ProgramPosition place, Space space = Space::kSlot);
  void AddCopy(ValueLocationId from, ValueLocationId to, LaneId lane, Step::ProgramPosition place);

  // Returns the extents that `device` reads to touch these values.
  std::vector<ValueLocationId> Extents(const std::vector<ValueLocationId>& touched,
                                       graph::DeviceId device, uint32_t consumer);

 private:
  ValueLocationId Snapshot(graph::ValueId id);
  ValueLocationId CopyThroughHost(ValueLocationId source, graph::DeviceId from, graph::DeviceId to,
                                  Step::ProgramPosition place, Space space);
  // Sends one message with all of `sources`, which are in the memory of `from`.
  std::vector<ValueLocationId> Send(const std::vector<ValueLocationId>& sources,
                                    graph::DeviceId from, graph::DeviceId to,
                                    Step::ProgramPosition place, const TransportRequest& via);
  ValueLocationId SendBy(graph::DeviceId relay, ValueLocationId source, graph::DeviceId from,
                         graph::DeviceId to, Step::ProgramPosition place,
                         const TransportRequest& via);
  void SendBucket(const graph::Bucket& bucket, Step::ProgramPosition place);
  ValueLocationId ExtentAt(graph::SymbolId symbol, graph::DeviceId device, uint32_t consumer);
  void Remember(const graph::Use& use, graph::DeviceId from, graph::DeviceId to,
                const TransportChoice& choice);

  const graph::Module& module_;
  const graph::Graph& graph_;
  const Facts& facts_;
  Tables& tables_;
  Schedule& schedule_;
  std::map<std::pair<graph::ValueId, graph::DeviceId>, ValueLocationId> home_;
  std::map<graph::StateId, BufferId> states_;
  std::map<graph::ValueId, ValueLocationId> snapshots_;
  // TransferKey: a value, the device that wants it, and the way.
  using TransferKey = std::tuple<graph::ValueId, graph::DeviceId, TransportRequest>;
  std::map<TransferKey, ValueLocationId> remote_;
  std::map<TransferKey, const graph::Bucket*> buckets_;
  std::map<std::pair<graph::SymbolId, graph::DeviceId>, ValueLocationId> extents_;
  std::set<std::tuple<graph::ValueId, graph::DeviceId, TransportRequest>> edges_;
};

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_LOWER_VALUES_H_
