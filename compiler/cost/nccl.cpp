#include "compiler/cost/nccl.h"

#include <algorithm>

#include "compiler/cost/formulas.h"
#include "compiler/cost/units.h"

namespace cgraph::cost {
namespace {

enum Protocol { kLL, kLL128, kSimple, kProtocols };
constexpr const char* kProtocolNames[] = {"LL", "LL128", "Simple"};

// Nanoseconds, by protocol.
using Latency = uint64_t[kProtocols];
struct Latencies {
  Latency base, nvlink_hop, pci_hop;
};
constexpr Latencies kRing = {{6600, 14000, 8400}, {600, 1900, 3400}, {1000, 2500, 5700}};
constexpr Latencies kTree = {{6800, 14000, 8400}, {600, 1250, 4000}, {1000, 1900, 4000}};
// What LL carries at most within a node, in bytes per microsecond.
uint64_t MostLL(Generation generation) {
  switch (generation) {
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
      return std::min(MostLL(group.generation), bus / 2);
    case kLL128:
      return bus * kPercentLL128 / 100;
    default:
      return bus;
  }
}

uint64_t LatencyOf(const NcclGroup& group, const Latencies& table, Protocol protocol,
                   uint64_t hops) {
  const Latency& hop = group.nvlink ? table.nvlink_hop : table.pci_hop;
  return (table.base[protocol] + hops * hop[protocol]) * 1000;
}

// Steps of a ring, and how many of them a message's head passes before the last one has it.
struct Ring {
  uint64_t steps, hops;
};
Ring RingOf(CollectiveKind kind, uint64_t n) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kBarrier: return {2 * (n - 1), 2 * (n - 1)};
    case CollectiveKind::kReduce:
    case CollectiveKind::kBroadcast: return {n, 1};
    default: return {n - 1, n - 1};
  }
}

}  // namespace

NcclTime NcclPicoseconds(const NcclGroup& group, CollectiveKind kind, uint64_t bytes) {
  const uint64_t n = std::max<uint64_t>(group.participants, 1);
  const bool joins = kind == CollectiveKind::kAllGather || kind == CollectiveKind::kGather;
  const uint64_t all = joins ? Part(bytes, n, 1) : bytes;
  const Ring ring = RingOf(kind, n);
  NcclTime best;
  best.moving_ps = UINT64_MAX / 2;
  const auto consider = [&](const char* algorithm, const Latencies& table, uint64_t bus,
                            uint64_t hops, uint64_t moved) {
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
    consider("tree", kTree, group.bus_bytes_per_us * kPercentTree / 100, 2 * (n - 1),
             Part(all, 2, 1));
  }
  return best;
}

}  // namespace cgraph::cost
