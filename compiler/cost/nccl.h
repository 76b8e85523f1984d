// The time of a collective between gpus by NCCL's own form: latency x count + bytes / bandwidth,
// for each algorithm and protocol, of which the least wins (NCCL 2.30.7, src/graph/tuning.cc).
//
// The constants are those of that file; they tune NCCL's choice, and are no measurements. Between
// nodes they are those of an Intel host and a network that adds no latency of its own. What is left
// out: NVLS, PAT, CollNet, limits by channel, and the correction of a tree's bandwidth by size.
//
// A ring moves 2(n-1)/n of the bytes of an all_reduce out of every node, a tree over two nodes
// moves them once each way: there its bus is twice what leaves a node, as far as the links inside
// carry that (src/graph/search.cc, "increase bwIntra for trees").
#ifndef CGRAPH_COMPILER_COST_NCCL_H_
#define CGRAPH_COMPILER_COST_NCCL_H_

#include <cstdint>

#include "compiler/cost/machine.h"
#include "runtime/base/kinds/collective.h"

namespace cgraph::cost {

struct NcclGroup {
  uint64_t participants = 2;
  bool nvlink = true;              // else over PCI
  uint64_t bus_bytes_per_us = 0;   // what a ring through all of them carries
  Generation generation = Generation::kHopper;
  uint64_t nodes = 1;              // with equally many participants on each
  uint64_t network_ps = 0;         // the least that a hop between nodes takes
  // The least that leaves or enters a node, and the rate of a ring within one, where members are on
  // several nodes. 0: as the ring through all.
  uint64_t across_bytes_per_us = 0, inside_bytes_per_us = 0;
};

struct NcclTime {
  uint64_t latency_ps = 0;
  uint64_t moving_ps = 0;          // the bytes
  const char* algorithm = "ring";
  const char* protocol = "LL";
  uint64_t total() const { return latency_ps + moving_ps; }
};

// `bytes` are what one participant gives; of broadcast and scatter: the root.
NcclTime NcclPicoseconds(const NcclGroup& group, CollectiveKind kind, uint64_t bytes);

}  // namespace cgraph::cost

#endif  // CGRAPH_COMPILER_COST_NCCL_H_
