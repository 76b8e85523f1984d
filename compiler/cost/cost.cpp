#include "compiler/cost/cost.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace cgraph::cost {
namespace {

constexpr uint64_t kPicosecondsPerMicrosecond = 1'000'000;

uint64_t Picoseconds(uint64_t amount, uint64_t per_us) {
  if (per_us == kEndless) return 0;
  const unsigned __int128 ps =
      (static_cast<unsigned __int128>(amount) * kPicosecondsPerMicrosecond + per_us - 1) / per_us;
  return static_cast<uint64_t>(
      std::min<unsigned __int128>(ps, std::numeric_limits<uint64_t>::max() / 4));
}

}  // namespace

const Topology& AssumedTopology() {
  // Orders of magnitude, rounded:
  // - cpu: one AVX2 core at 3 GHz (2 FMA units x 8 f32 = 96 GFLOP/s at most, a half of it reached),
  //   10 GB/s of memory per core (a 256 MiB memcpy on a 2-core cloud machine), 20 ns a call.
  // - gpu: NVIDIA H200's data sheet, 67 TFLOP/s f32 and 4.8 TB/s; 4 us per kernel launch.
  // - local copy and shm: the same machine's memcpy; 100 ns between cores, shm copies twice.
  // - nccl: NCCL's own tuning table, LL ring: base latency 6.6 us, 0.6 us a hop over NVLink, of
  //   which SM90 has 18 x 20.6 GB/s.
  // - host: PCIe gen 5 x16 as cudaMemcpyAsync reaches it, about 50 GB/s and 10 us.
  static const Topology kTopology = {
      .name = "assumed: AVX2 cores, H200 GPUs on NVLink and PCIe gen 5",
      .cpu = {.overhead_ps = 20'000, .flops_per_us = 48'000, .memory_bytes_per_us = 10'000},
      .gpu = {.overhead_ps = 4'000'000,
              .flops_per_us = 67'000'000,
              .memory_bytes_per_us = 4'800'000},
      .local_copy = {.latency_ps = 20'000, .hop_ps = 0, .bytes_per_us = 10'000},
      .shm = {.latency_ps = 100'000, .hop_ps = 100'000, .bytes_per_us = 6'600},
      .nccl = {.latency_ps = 6'600'000, .hop_ps = 600'000, .bytes_per_us = 370'000},
      .host = {.latency_ps = 10'000'000, .hop_ps = 0, .bytes_per_us = 50'000},
  };
  return kTopology;
}

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

uint64_t CollectivePicoseconds(const LinkRates& link, CollectiveKind kind, uint64_t participants,
                               uint64_t bytes) {
  const uint64_t n = participants, others = n - 1;
  const auto time = [&](uint64_t steps, uint64_t moved) {
    const uint64_t hops = steps == 0 ? 0 : steps - 1;
    return TransferPicoseconds(link, moved) + hops * link.hop_ps;
  };
  // Without overflow, since a tensor has at most 2^46 bytes.
  const auto part = [&](uint64_t times) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(bytes) * times / n);
  };
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
