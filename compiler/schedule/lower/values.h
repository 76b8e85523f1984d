// Where values lie: at their homes, and as replicas wherever else they are read. Who asks for a
// value somewhere gets a replica there, and the steps that bring it are added once.
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

  // Where it was made. Constants are at home wherever they are used: on `device`.
  ReplicaId AtHome(graph::ValueId id, graph::DeviceId device);
  // From now on the value lies there: of what the caller computed for another device.
  void SetHome(graph::ValueId id, graph::DeviceId device, ReplicaId replica);

  // The replica of a value that `device` reads. `place` says for whom: its class and consumer.
  // `space` is where a host copy made now puts it.
  ReplicaId Reach(const graph::Use& use, graph::DeviceId device, Step::Place place,
                  Space space = Space::kSlot);
  void AddCopy(ReplicaId from, ReplicaId to, LaneId lane, Step::Place place);

  // The extents that `device` reads to touch these values.
  std::vector<ReplicaId> Extents(const std::vector<ReplicaId>& touched, graph::DeviceId device,
                                 uint32_t consumer);

 private:
  ReplicaId Snapshot(graph::ValueId id);
  ReplicaId CopyThroughHost(ReplicaId source, graph::DeviceId from, graph::DeviceId to,
                            Step::Place place, Space space);
  // One message with all of `sources`, which are in the memory of `from`.
  std::vector<ReplicaId> Send(const std::vector<ReplicaId>& sources, graph::DeviceId from,
                              graph::DeviceId to, Step::Place place, const Journey& via);
  ReplicaId SendBy(graph::DeviceId relay, ReplicaId source, graph::DeviceId from,
                   graph::DeviceId to, Step::Place place, const Journey& via);
  void SendBucket(const graph::Bucket& bucket, Step::Place place);
  ReplicaId ExtentAt(graph::SymbolId symbol, graph::DeviceId device, uint32_t consumer);
  void Remember(const graph::Use& use, graph::DeviceId from, graph::DeviceId to,
                const TransportChoice& choice);

  const graph::Module& module_;
  const graph::Graph& graph_;
  const Facts& facts_;
  Tables& tables_;
  Schedule& schedule_;
  std::map<std::pair<graph::ValueId, graph::DeviceId>, ReplicaId> home_;
  std::map<graph::StateId, BufferId> states_;
  std::map<graph::ValueId, ReplicaId> snapshots_;
  // A value, where it is wanted, and which way.
  using Errand = std::tuple<graph::ValueId, graph::DeviceId, Journey>;
  std::map<Errand, ReplicaId> remote_;
  std::map<Errand, const graph::Bucket*> buckets_;
  std::map<std::pair<graph::SymbolId, graph::DeviceId>, ReplicaId> extents_;
  std::set<std::tuple<graph::ValueId, graph::DeviceId, Journey>> edges_;
};

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_LOWER_VALUES_H_
