// Costs: how long kernels, copies, messages and collectives take on the machine of one topology,
// and which shared resources they hold meanwhile.
//
// One object answers for the scheduler (before there is a plan) and for the simulator (of a plan),
// so that both use the same machine. Results of look-ups are remembered.
#ifndef CGRAPH_COMPILER_COST_COSTS_H_
#define CGRAPH_COMPILER_COST_COSTS_H_

#include <map>
#include <utility>
#include <vector>

#include "compiler/cost/group/group_rate.h"
#include "compiler/cost/machine.h"
#include "compiler/cost/nccl.h"
#include "compiler/cost/topology.h"
#include "runtime/base/kinds/collective.h"
#include "runtime/base/kinds/dtype.h"
#include "runtime/base/kinds/transport.h"

namespace cgraph::cost {

// Movement: something that moves bytes takes `ps`. From its start on it holds `resources` for
// `held_ps`: its latency delays it and occupies nothing. A staged movement holds the resources of
// all its legs.
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
  // Returns whether a value can come from one device to the other.
  bool Reaches(const LogicalDevice& from, const LogicalDevice& to) const;

  // Returns the time of a kernel in picoseconds.
  uint64_t Kernel(const LogicalDevice& device, uint64_t flops, uint64_t bytes, DType dtype) const;
  const DeviceRates& RatesOf(const LogicalDevice& device) const;
  // Returns how much longer a kernel on a cpu takes for an operand in another cpu's memory, by the
  // link between the two. 0 where no link is stated: then they share their memory.
  uint64_t RemoteRead(const LogicalDevice& reader, const LogicalDevice& home, uint64_t bytes) const;
  // A copy by the lane of a device: into its memory, out of it, or within.
  Movement Copy(const LogicalDevice& lane, const LogicalDevice& from, const LogicalDevice& to,
                uint64_t bytes) const;
  Movement Message(const LogicalDevice& from, const LogicalDevice& to, TransportKind by,
                   uint64_t bytes) const;
  // Returns the rates of a message between the two; of a staged message, all legs together.
  LinkRates Rates(const LogicalDevice& from, const LogicalDevice& to, TransportKind by) const;
  // Returns the movement of a collective. `bytes`: what one participant gives; of broadcast and
  // scatter, all that the root gives. Gpus of several nodes take what NCCL would, whatever
  // `by` says: a bound, as the network lets through no more.
  Movement Collective(CollectiveKind kind, const std::vector<LogicalDevice>& participants,
                      TransportKind by, uint64_t bytes, uint32_t root = 0) const;

 private:
  // Returns what is assumed of what goes by a transport within a machine.
  const LinkRates& AssumedWithin(TransportKind by) const;
  // Return what is assumed of a message, and of a collective, where no machine is stated.
  const LinkRates& Assumed(const LogicalDevice& from, const LogicalDevice& to,
                           TransportKind by) const;
  uint64_t AssumedCollective(CollectiveKind kind, const std::vector<LogicalDevice>& participants,
                             TransportKind by, uint64_t bytes, uint32_t root) const;
  const std::optional<Route>& RouteOf(const LogicalDevice& from, const LogicalDevice& to) const;
  Movement Along(const Route& route, uint64_t bytes) const;
  const MachineDevice* DeviceOf(const LogicalDevice& key) const;
  const GroupRate& RateOf(Group group) const;
  Movement NcclCollective(CollectiveKind kind, const Group& group, uint64_t bytes) const;
  NcclGroup NcclGroupOf(const Group& group, const GroupRate& rate) const;

  const Topology& topology_;
  mutable std::map<std::pair<LogicalDevice, LogicalDevice>, std::optional<Route>> routes_;
  mutable std::map<Group, GroupRate> rates_;
};

}  // namespace cgraph::cost

#endif  // CGRAPH_COMPILER_COST_COSTS_H_
