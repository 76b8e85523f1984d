// Costs: how long kernels, copies, messages and collectives take on the machine of one topology,
// and which shared resources they hold meanwhile.
//
// One object answers for the scheduler (before there is a plan) and for the simulator (of a plan),
// so that both speak of the same machine. What it looked up it remembers.
#ifndef CGRAPH_COMPILER_COST_COSTS_H_
#define CGRAPH_COMPILER_COST_COSTS_H_

#include <map>
#include <utility>
#include <vector>

#include "compiler/base/collective.h"
#include "compiler/base/dtype.h"
#include "compiler/cost/group/group_rate.h"
#include "compiler/cost/machine.h"
#include "compiler/cost/nccl.h"
#include "compiler/cost/topology.h"

namespace cgraph::cost {

// What moves bytes takes `ps`. From its start on it holds `resources` for `held_ps`: its latency
// delays it and occupies nothing. One that is staged holds what all its legs go through.
struct Movement {
  uint64_t ps = 0;
  uint64_t held_ps = 0;
  std::vector<uint32_t> resources;  // of the machine, sorted; one as often as tokens of it
};

class Costs {
 public:
  explicit Costs(const Topology& topology) : topology_(topology) {}
  explicit Costs(const Topology* topology)  // null: the assumed one
      : topology_(topology != nullptr ? *topology : AssumedTopology()) {}

  const Topology& topology() const { return topology_; }
  // Whether a value can come from one device to the other.
  bool Reaches(const DeviceKey& from, const DeviceKey& to) const;

  // In picoseconds.
  uint64_t Kernel(const DeviceKey& device, uint64_t flops, uint64_t bytes, DType dtype) const;
  // What a kernel on a cpu takes longer for an operand that lies in another cpu's memory: the link
  // between the two. Nothing where none is stated: then they share their memory.
  uint64_t RemoteRead(const DeviceKey& reader, const DeviceKey& home, uint64_t bytes) const;
  // By the lane of a device: into its memory, out of it, or within.
  Movement Copy(const DeviceKey& lane, const DeviceKey& from, const DeviceKey& to,
                uint64_t bytes) const;
  Movement Message(const DeviceKey& from, const DeviceKey& to, bool by_nccl, uint64_t bytes) const;
  // What a message between the two costs, as rates: of one that is staged, all legs together.
  LinkRates Rates(const DeviceKey& from, const DeviceKey& to, bool by_nccl) const;
  // `bytes` are what one participant gives; of broadcast and scatter: the root, a rank.
  Movement Collective(CollectiveKind kind, const std::vector<DeviceKey>& participants, bool by_nccl,
                      uint64_t bytes, uint32_t root = 0) const;

 private:
  const std::optional<Route>& RouteOf(const DeviceKey& from, const DeviceKey& to) const;
  Movement Along(const Route& route, uint64_t bytes) const;
  const MachineDevice* DeviceOf(const DeviceKey& key) const;
  const GroupRate& RateOf(Group group) const;
  Movement NcclCollective(CollectiveKind kind, const Group& group, uint64_t bytes) const;
  NcclGroup NcclGroupOf(const Group& group, const GroupRate& rate) const;

  const Topology& topology_;
  mutable std::map<std::pair<DeviceKey, DeviceKey>, std::optional<Route>> routes_;
  mutable std::map<Group, GroupRate> rates_;
};

}  // namespace cgraph::cost

#endif  // CGRAPH_COMPILER_COST_COSTS_H_
