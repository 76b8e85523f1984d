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

uint64_t BandwidthOf(const NcclGroup& group, uint64_t bus, Protocol protocol) {
  switch (protocol) {
    case kLL:
      return std::min(MostLL(group), bus / 2);
    case kLL128:
      return bus * kPercentLL128 / 100;
    default:
      return bus;
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

uint64_t LatencyOf(const NcclGroup& group, const Latencies& table, Protocol protocol, Hops hops) {
  uint64_t inside = (group.nvlink ? table.nvlink_hop : table.pci_hop)[protocol];
  if (group.nodes > 1 && &table == &kRing) inside = std::max(inside, kNetworkOverhead[protocol]);
  // With one gpu on each node nothing hides a hop, and NCCL counts it like one of a tree.
  const bool alone = group.participants == group.nodes;
  const uint64_t across = NetworkHop(group, alone ? kTree : table, protocol);
  return (table.base[protocol] + hops.inside * inside + hops.across * across) * 1000;
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
  const auto consider = [&](const char* algorithm, const Latencies& table, uint64_t bus,
                            Hops hops, uint64_t moved) {
    for (int i = 0; i < kProtocols; ++i) {
      const auto protocol = static_cast<Protocol>(i);
      const uint64_t bandwidth = std::max<uint64_t>(BandwidthOf(group, bus, protocol), 1);
      const NcclTime time{LatencyOf(group, table, protocol, hops),
                          MovePicoseconds(moved, bandwidth), algorithm, kProtocolNames[i]};
      if (time.total() < best.total()) best = time;
    }
  };
  consider("ring", kRing, group.bus_bytes_per_us, ring.hops, Part(all, ring.steps, n));
  if (kind == CollectiveKind::kAllReduce && n > 2) {
    consider("tree", kTree, group.bus_bytes_per_us * kPercentTree / 100, TreeOf(group),
             Part(all, 2, 1));
  }
  return best;
}

}  // namespace cgraph::cost
