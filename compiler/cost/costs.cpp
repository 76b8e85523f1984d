#include "compiler/cost/costs.h"

#include <algorithm>
#include <set>

#include "compiler/cost/formulas.h"

namespace cgraph::cost {
namespace {

bool IsGpu(const LogicalDevice& key) { return key.kind == DeviceKind::kGpu; }

void AddResources(const Route& route, Movement& movement) {
  for (const Link& leg : route.legs) {
    movement.resources.insert(movement.resources.end(), leg.through.begin(), leg.through.end());
  }
  std::sort(movement.resources.begin(), movement.resources.end());
  movement.resources.erase(std::unique(movement.resources.begin(), movement.resources.end()),
                           movement.resources.end());
}

// Makes a movement where only rates are known.
Movement Plain(uint64_t ps) { return {.ps = ps}; }

// Counts the members on each node.
std::map<uint32_t, uint64_t> MembersByNode(const std::vector<LogicalDevice>& members) {
  std::map<uint32_t, uint64_t> counts;
  for (const LogicalDevice& member : members) ++counts[member.node];
  return counts;
}

// Returns the rate of a collective whose members are on several nodes, each with one port of
// `bytes_per_us`. Of an exchange it is, as in GroupRate, the rate of n - 1 parts out of a member,
// where the busiest port carries more parts than that.
uint64_t RateByPorts(CollectiveKind kind, const std::vector<LogicalDevice>& members, uint32_t root,
                     uint64_t bytes_per_us) {
  const uint64_t n = members.size();
  const std::map<uint32_t, uint64_t> counts = MembersByNode(members);
  uint64_t parts = n - 1;
  switch (PatternOf(kind)) {
    case GroupPattern::kRing: break;
    case GroupPattern::kToRoot:
    case GroupPattern::kFromRoot: parts = n - counts.at(members[root].node); break;
    case GroupPattern::kAllPairs:
      parts = 0;
      for (const auto& [node, here] : counts) parts = std::max(parts, here * (n - here));
  }
  return std::max<uint64_t>(Part(bytes_per_us, n - 1, std::max<uint64_t>(parts, 1)), 1);
}

}  // namespace

const MachineDevice* Costs::DeviceOf(const LogicalDevice& key) const {
  if (!topology_.machine) return nullptr;
  const std::optional<uint32_t> found = topology_.machine->Find(key);
  return found ? &topology_.machine->devices[*found] : nullptr;
}

const std::optional<Route>& Costs::RouteOf(const LogicalDevice& from,
                                           const LogicalDevice& to) const {
  const auto [known, is_new] = routes_.try_emplace({from, to});
  if (is_new) known->second = topology_.machine->FindRoute(from, to);
  return known->second;
}

bool Costs::Reaches(const LogicalDevice& from, const LogicalDevice& to) const {
  return !topology_.machine || RouteOf(from, to).has_value();
}

uint64_t Costs::Kernel(const LogicalDevice& device, uint64_t flops, uint64_t bytes,
                       DType dtype) const {
  return KernelPicoseconds(RatesOf(device), flops, bytes, dtype);
}

const DeviceRates& Costs::RatesOf(const LogicalDevice& device) const {
  if (const MachineDevice* stated = DeviceOf(device)) return stated->rates;
  return IsGpu(device) ? topology_.gpu : topology_.cpu;
}

uint64_t Costs::RemoteRead(const LogicalDevice& reader, const LogicalDevice& home,
                           uint64_t bytes) const {
  const bool cpus = reader.kind == DeviceKind::kCpu && home.kind == DeviceKind::kCpu;
  if (!topology_.machine || !cpus || reader == home) return 0;
  const std::optional<Route>& route = RouteOf(home, reader);
  return route ? Along(*route, bytes).ps : 0;
}

// The last byte arrives when all legs have passed; shared resources are held as long as bytes go
// in.
Movement Costs::Along(const Route& route, uint64_t bytes) const {
  Movement movement;
  uint64_t last_latency = 0;
  for (const Link& leg : route.legs) {
    last_latency = leg.latency_ps;
    movement.ps += leg.latency_ps + MovePicoseconds(bytes, leg.bytes_per_us);
  }
  AddResources(route, movement);
  if (!movement.resources.empty()) movement.held_ps = movement.ps - last_latency;
  return movement;
}

Movement Costs::Copy(const LogicalDevice& lane, const LogicalDevice& from, const LogicalDevice& to,
                     uint64_t bytes) const {
  if (from == to && IsGpu(lane)) return Plain(Kernel(lane, 0, 2 * bytes, DType::kU8));
  if (topology_.machine) {
    const std::optional<Route>& route = RouteOf(from, to);
    if (route && !route->legs.empty()) return Along(*route, bytes);
    if (const MachineDevice* stated = DeviceOf(lane)) {
      return Plain(KernelPicoseconds(stated->rates, 0, 2 * bytes, DType::kU8));
    }
  }
  return Plain(TransferPicoseconds(IsGpu(lane) ? topology_.host : topology_.local_copy, bytes));
}

// A rendezvous copies once, from device to device; what buffers copies twice.
const LinkRates& Costs::AssumedWithin(TransportKind by) const {
  return DeliveryOf(by) == Delivery::kRendezvous ? topology_.nccl : topology_.shm;
}

const LinkRates& Costs::Assumed(const LogicalDevice& from, const LogicalDevice& to,
                                TransportKind by) const {
  if (from.node != to.node) return topology_.network;
  return AssumedWithin(by);
}

// Within a node the members have the rates that are assumed of one machine, and each node has one
// port to the others.
uint64_t Costs::AssumedCollective(CollectiveKind kind,
                                  const std::vector<LogicalDevice>& participants, TransportKind by,
                                  uint64_t bytes, uint32_t root) const {
  const uint64_t n = participants.size(), nodes = MembersByNode(participants).size();
  if (nodes == 1) {
    return CollectivePicoseconds(AssumedWithin(by), kind, {n}, bytes);
  }
  const LinkRates& network = topology_.network;
  const uint64_t rate = RateByPorts(kind, participants, root, network.bytes_per_us);
  if (std::all_of(participants.begin(), participants.end(), IsGpu)) {
    const uint64_t inside = topology_.nccl.bytes_per_us;
    const NcclGroup group{.participants = n,
                          .bus_bytes_per_us = nodes == n ? rate : std::min(rate, inside),
                          .nodes = nodes,
                          .network_ps = network.latency_ps,
                          .across_bytes_per_us = network.bytes_per_us,
                          .inside_bytes_per_us = inside};
    return NcclPicoseconds(group, kind, bytes).total();
  }
  LinkRates link = topology_.shm;
  link.bytes_per_us = nodes == n ? rate : std::min(rate, link.bytes_per_us);
  return CollectivePicoseconds(link, kind, {n, nodes, network.latency_ps}, bytes);
}

Movement Costs::Message(const LogicalDevice& from, const LogicalDevice& to, TransportKind by,
                        uint64_t bytes) const {
  if (topology_.machine) {
    const std::optional<Route>& route = RouteOf(from, to);
    if (route && !route->legs.empty()) return Along(*route, bytes);
  }
  return Plain(TransferPicoseconds(Assumed(from, to, by), bytes));
}

LinkRates Costs::Rates(const LogicalDevice& from, const LogicalDevice& to, TransportKind by) const {
  LinkRates rates = Assumed(from, to, by);
  if (!topology_.machine) return rates;
  const std::optional<Route>& route = RouteOf(from, to);
  if (!route || route->legs.empty()) return rates;
  constexpr uint64_t kBytes = uint64_t{1} << 40;
  unsigned __int128 time = 0;
  rates.latency_ps = 0;
  for (const Link& leg : route->legs) {
    rates.latency_ps += leg.latency_ps;
    time += MovePicoseconds(kBytes, leg.bytes_per_us);
  }
  const unsigned __int128 per_us =
      static_cast<unsigned __int128>(kBytes) * kPicosecondsPerMicrosecond / time;
  rates.bytes_per_us = std::max<uint64_t>(static_cast<uint64_t>(per_us), 1);
  return rates;
}

const GroupRate& Costs::RateOf(Group group) const {
  const auto found = rates_.find(group);
  if (found != rates_.end()) return found->second;
  GroupRate rate = cost::RateOf(
      *topology_.machine,
      group, [this](const LogicalDevice& from, const LogicalDevice& to) -> const auto& {
        return RouteOf(from, to);
      });
  return rates_.emplace(std::move(group), std::move(rate)).first->second;
}

NcclGroup Costs::NcclGroupOf(const Group& group, const GroupRate& rate) const {
  NcclGroup nccl{.participants = group.members.size(),
                 .nvlink = rate.by_links,
                 .bus_bytes_per_us = rate.bytes_per_us,
                 .across_bytes_per_us = rate.across_bytes_per_us,
                 .inside_bytes_per_us = rate.inside_bytes_per_us};
  std::set<uint32_t> nodes;
  for (const LogicalDevice& key : group.members) {
    nodes.insert(key.node);
    if (const MachineDevice* device = DeviceOf(key)) {
      nccl.generation = std::min(nccl.generation, device->generation);
    }
  }
  nccl.nodes = nodes.size();
  for (size_t i = 0; i < group.members.size() && nccl.nodes > 1; ++i) {
    const LogicalDevice& from = group.members[i];
    const LogicalDevice& to = group.members[(i + 1) % group.members.size()];
    if (from.node == to.node) continue;
    uint64_t latency = 0;
    if (const std::optional<Route>& route = RouteOf(from, to)) {
      for (const Link& leg : route->legs) latency += leg.latency_ps;
    }
    nccl.network_ps = std::max(nccl.network_ps, latency);
  }
  if (rate.reached) return nccl;
  const LinkRates& assumed = nccl.nodes > 1 ? topology_.network : topology_.nccl;
  nccl.bus_bytes_per_us = std::min(nccl.bus_bytes_per_us, assumed.bytes_per_us);
  nccl.across_bytes_per_us = nccl.inside_bytes_per_us = nccl.bus_bytes_per_us;
  if (nccl.nodes > 1) nccl.network_ps = std::max(nccl.network_ps, assumed.latency_ps);
  return nccl;
}

Movement Costs::NcclCollective(CollectiveKind kind, const Group& group, uint64_t bytes) const {
  const GroupRate& rate = RateOf(group);
  const NcclTime time = NcclPicoseconds(NcclGroupOf(group, rate), kind, bytes);
  Movement movement{.ps = time.total(), .resources = rate.resources};
  if (!movement.resources.empty()) movement.held_ps = time.moving_ps;
  return movement;
}

// The rates that are assumed of memory that two participants share hold where nothing is stated of
// it, and those of the network where no way is stated from one node to another.
Movement Costs::Collective(CollectiveKind kind, const std::vector<LogicalDevice>& participants,
                           TransportKind by, uint64_t bytes, uint32_t root) const {
  if (!topology_.machine || participants.size() < 2) {
    return Plain(AssumedCollective(kind, participants, by, bytes, root));
  }
  const GroupPattern pattern = PatternOf(kind);
  const uint64_t nodes = MembersByNode(participants).size();
  const bool nccl = (by == TransportKind::kNccl || nodes > 1) &&
                    std::all_of(participants.begin(), participants.end(), IsGpu);
  const bool has_root = pattern == GroupPattern::kToRoot || pattern == GroupPattern::kFromRoot;
  const Group group{participants, pattern, has_root ? root : 0, nccl};
  if (nccl) return NcclCollective(kind, group, bytes);
  const GroupRate& rate = RateOf(group);
  LinkRates link{rate.hop_ps, rate.hop_ps, rate.bytes_per_us};
  if (!rate.stated) {
    const LinkRates& memory = topology_.shm;
    link = {std::max(memory.latency_ps, rate.hop_ps), std::max(memory.hop_ps, rate.hop_ps),
            std::min(memory.bytes_per_us, rate.bytes_per_us)};
  }
  GroupShape shape{participants.size(), nodes, rate.across_ps};
  if (!rate.reached) {
    const LinkRates& assumed = nodes > 1 ? topology_.network : topology_.shm;
    link.bytes_per_us = std::min(assumed.bytes_per_us, link.bytes_per_us);
    shape.across_ps = std::max(assumed.latency_ps, shape.across_ps);
  }
  Movement movement{.ps = CollectivePicoseconds(link, kind, shape, bytes),
                    .resources = rate.resources};
  if (!movement.resources.empty()) movement.held_ps = movement.ps;
  return movement;
}

}  // namespace cgraph::cost
