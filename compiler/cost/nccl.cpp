#include "compiler/cost/nccl.h"

#include <algorithm>
#include <bit>

#include "compiler/cost/formulas.h"

namespace cgraph::cost {
namespace {

enum Protocol { kLL, kLL128, kSimple, kProtocols };
constexpr const char* kProtocolNames[] = {"LL", "LL128", "Simple"};

// Latency in nanoseconds, by protocol.
using Latency = uint64_t[kProtocols];
struct Latencies {
  Latency base, nvlink_hop, pci_hop, network_hop;
};
constexpr Latencies kRing = {
    {6600, 14000, 8400}, {600, 1900, 3400}, {1000, 2500, 5700}, {2700, 4000, 14000}};
constexpr Latencies kTree = {
    {6800, 14000, 8400}, {600, 1250, 4000}, {1000, 1900, 4000}, {5000, 8500, 14000}};
// The least time that each step of a ring over several nodes takes the network's thread.
constexpr Latency kNetworkOverhead = {1000, 1000, 3000};

// The most that LL carries, in bytes per microsecond: limited in one node by the gpus, in two and
// in more by the hosts.
uint64_t MostLL(const NcclGroup& group) {
  if (group.nodes > 1) return group.nodes == 2 ? 39'000 : 20'400;
  switch (group.generation) {
    case Generation::kVolta: return 39'000;
    case Generation::kAmpere: return 87'700;
    case Generation::kHopper: return 141'000;
    case Generation::kBlackwell: return 282'000;
  }
  return 0;
}
constexpr uint64_t kPercentLL128 = 92, kPercentTree = 92;

uint64_t RingBandwidth(const NcclGroup& group, Protocol protocol) {
  const uint64_t bus = group.bus_bytes_per_us;
  switch (protocol) {
    case kLL: return std::min(MostLL(group), bus / 2);
    case kLL128: return bus * kPercentLL128 / 100;
    default: return bus;
  }
}

// Returns the bus of a tree, by which twice the bytes go.
uint64_t TreeBus(const NcclGroup& group) {
  if (group.nodes == 1) return group.bus_bytes_per_us;
  const auto or_bus = [&](uint64_t rate) { return rate == 0 ? group.bus_bytes_per_us : rate; };
  const uint64_t across = or_bus(group.across_bytes_per_us);
  return std::min(group.nodes == 2 ? 2 * across : across, or_bus(group.inside_bytes_per_us));
}

uint64_t TreeBandwidth(const NcclGroup& group, Protocol protocol) {
  const uint64_t bus = TreeBus(group) * kPercentTree / 100;
  switch (protocol) {
    case kLL: return std::min(MostLL(group), bus * 10 / 38);
    case kLL128: return group.nodes == 1 ? bus * 7 / 9 : bus * 120 / 128;
    default: return bus;
  }
}

// Hops: how often a message's head passes from gpu to gpu of a node, and from node to node, before
// the last one has it.
struct Hops {
  uint64_t inside, across;
};

// Returns the nanoseconds of one hop from node to node.
uint64_t NetworkHop(const NcclGroup& group, const Latencies& table, Protocol protocol) {
  return std::max(table.network_hop[protocol], (group.network_ps + 999) / 1000);
}

uint64_t TreeLatency(const NcclGroup& group, Protocol protocol, Hops hops) {
  const uint64_t inside = (group.nvlink ? kTree.nvlink_hop : kTree.pci_hop)[protocol];
  const uint64_t across = NetworkHop(group, kTree, protocol);
  return (kTree.base[protocol] + hops.inside * inside + hops.across * across) * 1000;
}

// A chain: the bytes go through all participants once, and one hop counts.
bool IsChain(CollectiveKind kind) {
  return kind == CollectiveKind::kReduce || kind == CollectiveKind::kBroadcast;
}

// `bytes`: of the whole, a part of which each participant has.
uint64_t RingLatency(const NcclGroup& group, CollectiveKind kind, Protocol protocol, Hops hops,
                     uint64_t bytes) {
  uint64_t inside = (group.nvlink ? kRing.nvlink_hop : kRing.pci_hop)[protocol];
  if (group.nodes > 1) inside = std::max(inside, kNetworkOverhead[protocol]);
  // With one gpu on each node nothing hides a hop, and NCCL counts it like one of a tree.
  const bool alone = group.participants == group.nodes && !IsChain(kind);
  const uint64_t across = NetworkHop(group, alone ? kTree : kRing, protocol);
  const uint64_t ps = (kRing.base[protocol] + hops.inside * inside + hops.across * across) * 1000;
  const bool long_plateau = group.nodes > 1 && protocol == kSimple &&
                            kind == CollectiveKind::kAllReduce && bytes / group.participants >= 64;
  if (!long_plateau) return ps;
  return ps / 10 * (group.generation == Generation::kVolta ? 19 : 14);
}

// A ring: its steps, each of which moves an n-th of the bytes, and the hops of its latency.
struct Ring {
  uint64_t steps;
  Hops hops;
};
Ring RingOf(CollectiveKind kind, const NcclGroup& group) {
  const uint64_t n = group.participants, between = group.nodes - 1;
  switch (kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kBarrier: return {2 * (n - 1), {2 * (n - 1 - between), 2 * between}};
    case CollectiveKind::kReduce:
    case CollectiveKind::kBroadcast:
      return {n, between == 0 ? Hops{1, 0} : Hops{0, 1}};
    default: return {n - 1, {n - 1 - between, between}};
  }
}

// Counts the hops up a tree over the nodes, and down again; within a node along a chain.
Hops TreeOf(const NcclGroup& group) {
  const uint64_t levels = std::bit_width(group.nodes) - 1;
  return {2 * (group.participants / group.nodes - 1), 2 * levels};
}

}  // namespace

NcclTime NcclPicoseconds(const NcclGroup& group, CollectiveKind kind, uint64_t bytes) {
  const uint64_t n = std::max<uint64_t>(group.participants, 1);
  const bool joins = kind == CollectiveKind::kAllGather || kind == CollectiveKind::kGather;
  const uint64_t all = joins ? Part(bytes, n, 1) : bytes;
  const Ring ring = RingOf(kind, group);
  NcclTime best;
  best.moving_ps = UINT64_MAX / 2;
  const auto consider = [&](const char* algorithm, Protocol protocol, uint64_t latency_ps,
                            uint64_t bandwidth, uint64_t moved) {
    const NcclTime time{latency_ps, MovePicoseconds(moved, std::max<uint64_t>(bandwidth, 1)),
                        algorithm, kProtocolNames[protocol]};
    if (time.total() < best.total()) best = time;
  };
  for (const Protocol protocol : {kLL, kLL128, kSimple}) {
    consider("ring", protocol, RingLatency(group, kind, protocol, ring.hops, all),
             RingBandwidth(group, protocol), Part(all, ring.steps, n));
  }
  const bool reduces = kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kBarrier;
  if (!reduces || n == 2) return best;
  for (const Protocol protocol : {kLL, kLL128, kSimple}) {
    consider("tree", protocol, TreeLatency(group, protocol, TreeOf(group)),
             TreeBandwidth(group, protocol), Part(all, 2, 1));
  }
  return best;
}

}  // namespace cgraph::cost
