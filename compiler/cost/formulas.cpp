#include "compiler/cost/formulas.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace cgraph::cost {
namespace {

uint64_t Picoseconds(uint64_t amount, uint64_t per_us) {
  if (per_us == kEndless) return 0;
  const unsigned __int128 ps =
      (static_cast<unsigned __int128>(amount) * kPicosecondsPerMicrosecond + per_us - 1) / per_us;
  return static_cast<uint64_t>(
      std::min<unsigned __int128>(ps, std::numeric_limits<uint64_t>::max() / 4));
}

}  // namespace

uint64_t MovePicoseconds(uint64_t bytes, uint64_t bytes_per_us) {
  return Picoseconds(bytes, bytes_per_us);
}

uint64_t KernelPicoseconds(const DeviceRates& device, uint64_t flops, uint64_t bytes,
                           DType dtype) {
  return device.overhead_ps + std::max(Picoseconds(flops, device.FlopsPerMicrosecond(dtype)),
                                       Picoseconds(bytes, device.memory_bytes_per_us));
}

uint64_t TransferPicoseconds(const LinkRates& link, uint64_t bytes) {
  return link.latency_ps + Picoseconds(bytes, link.bytes_per_us);
}

uint64_t BytesPerLatency(const LinkRates& link) {
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  if (link.bytes_per_us == kEndless) return kMost;
  return static_cast<uint64_t>(std::min<unsigned __int128>(
      static_cast<unsigned __int128>(link.latency_ps) * link.bytes_per_us /
          kPicosecondsPerMicrosecond,
      kMost));
}

uint64_t CollectivePicoseconds(const LinkRates& link, CollectiveKind kind, const GroupShape& group,
                               uint64_t bytes) {
  const uint64_t n = group.participants, others = n - 1, between = group.nodes - 1;
  // The first step has the latency of the link, unless it leads to another node, too.
  const auto time = [&](uint64_t steps, uint64_t across, uint64_t moved) {
    const uint64_t start = link.latency_ps - std::min(link.latency_ps, link.hop_ps);
    const uint64_t inside = steps - across;
    const uint64_t hops = inside == 0 ? start : link.latency_ps + (inside - 1) * link.hop_ps;
    const uint64_t latency = steps == 0 ? link.latency_ps : hops + across * group.across_ps;
    return latency + Picoseconds(moved, link.bytes_per_us);
  };
  const auto part = [&](uint64_t times) { return Part(bytes, times, n); };
  const uint64_t levels = std::bit_width(others), levels_across = std::bit_width(between);
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return std::min(time(2 * others, 2 * between, part(2 * others)),
                      time(2 * levels, 2 * levels_across, 2 * bytes));
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kScatter: return time(others, between, part(others));
    case CollectiveKind::kAllGather:
    case CollectiveKind::kGather: return time(others, between, part(others * n));
    case CollectiveKind::kReduce:
    case CollectiveKind::kBroadcast: return time(n, between, bytes);
    case CollectiveKind::kBarrier: return time(2 * levels, 2 * levels_across, 0);
  }
  return 0;
}

}  // namespace cgraph::cost
