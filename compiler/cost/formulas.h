// The formulas of costs, from rates to integer picoseconds.
//
// A kernel takes a device's overhead plus the longer of its arithmetic and its memory traffic; a
// transfer takes alpha + bytes / beta. The rates come from topology.h and machine.h. Costs
// (costs.h) answers for a device, or a pair of them.
#ifndef CGRAPH_COMPILER_COST_FORMULAS_H_
#define CGRAPH_COMPILER_COST_FORMULAS_H_

#include <cstdint>

#include "compiler/cost/topology.h"
#include "runtime/base/kinds/collective.h"

namespace cgraph::cost {

inline constexpr uint64_t kPicosecondsPerMicrosecond = 1'000'000;

// bytes * times / n, without overflow: a tensor has at most 2^46 bytes, and collectives fewer than
// 2^16 participants.
inline uint64_t Part(uint64_t bytes, uint64_t times, uint64_t n) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(bytes) * times / n);
}

// bytes / bytes_per_us, rounded up; the largest time where that overflows.
uint64_t MovePicoseconds(uint64_t bytes, uint64_t bytes_per_us);
uint64_t KernelPicoseconds(const DeviceRates& device, uint64_t flops, uint64_t bytes, DType dtype);
uint64_t TransferPicoseconds(const LinkRates& link, uint64_t bytes);

// The bytes that a link moves in its latency: what is less is small.
uint64_t BytesPerLatency(const LinkRates& link);

// GroupShape: how many take part in a collective, and on how many nodes. Of the hops of a ring, or
// of a tree, as few as possible lead from node to node, where one takes `across_ps`.
struct GroupShape {
  uint64_t participants = 2;
  uint64_t nodes = 1;
  uint64_t across_ps = 0;
};

// A collective in which `bytes` are what one participant gives (of broadcast and scatter: the
// root), around a ring or, of an all_reduce of little, up and down a tree. `link`: the hops within
// a node, and the bandwidth of all.
uint64_t CollectivePicoseconds(const LinkRates& link, CollectiveKind kind, const GroupShape& group,
                               uint64_t bytes);

}  // namespace cgraph::cost

#endif  // CGRAPH_COMPILER_COST_FORMULAS_H_
