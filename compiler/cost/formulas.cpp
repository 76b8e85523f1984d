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

uint64_t KernelPicoseconds(const DeviceRates& device, uint64_t flops, uint64_t bytes) {
  return device.overhead_ps + std::max(Picoseconds(flops, device.flops_per_us),
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

uint64_t CollectivePicoseconds(const LinkRates& link, CollectiveKind kind, uint64_t participants,
                               uint64_t bytes) {
  const uint64_t n = participants, others = n - 1;
  const auto time = [&](uint64_t steps, uint64_t moved) {
    const uint64_t hops = steps == 0 ? 0 : steps - 1;
    return TransferPicoseconds(link, moved) + hops * link.hop_ps;
  };
  const auto part = [&](uint64_t times) { return Part(bytes, times, n); };
  switch (kind) {
    case CollectiveKind::kAllReduce: {
      const uint64_t levels = std::bit_width(others);
      return std::min(time(2 * others, part(2 * others)), time(2 * levels, 2 * bytes));
    }
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kScatter: return time(others, part(others));
    case CollectiveKind::kAllGather:
    case CollectiveKind::kGather: return time(others, part(others * n));
    case CollectiveKind::kReduce:
    case CollectiveKind::kBroadcast: return time(n, bytes);
    case CollectiveKind::kBarrier: return time(2 * std::bit_width(others), 0);
  }
  return 0;
}

}  // namespace cgraph::cost
