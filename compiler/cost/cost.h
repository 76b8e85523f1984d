// What things cost, in integer picoseconds, from one table of assumed rates.
//
// A kernel takes a device's overhead plus the longer of its arithmetic and its memory traffic; a
// transfer takes alpha + bytes / beta. Integers only, so that one source gives one plan on every
// machine. The numbers size `expected` in a plan and nothing else: a profile replaces them.
#ifndef CGRAPH_COMPILER_COST_COST_H_
#define CGRAPH_COMPILER_COST_COST_H_

#include <cstdint>

#include "compiler/base/collective.h"

namespace cgraph::cost {

constexpr uint64_t kEndless = 0;  // as a rate: what it does takes no time

struct DeviceRates {
  uint64_t overhead_ps;           // to start one kernel
  uint64_t flops_per_us;
  uint64_t memory_bytes_per_us;
};
struct LinkRates {
  uint64_t latency_ps;
  uint64_t hop_ps;                // of each further step of a collective
  uint64_t bytes_per_us;
};

// The topology that is assumed as long as none can be stated.
struct Topology {
  const char* name;
  DeviceRates cpu, gpu;
  LinkRates local_copy, shm, nccl, host;
};
const Topology& AssumedTopology();

uint64_t KernelPicoseconds(const DeviceRates& device, uint64_t flops, uint64_t bytes);
uint64_t TransferPicoseconds(const LinkRates& link, uint64_t bytes);

// A collective in which `bytes` are what one participant gives (of broadcast and scatter: the
// root), around a ring or, of an all_reduce of little, up and down a tree.
uint64_t CollectivePicoseconds(const LinkRates& link, CollectiveKind kind, uint64_t participants,
                               uint64_t bytes);

}  // namespace cgraph::cost

#endif  // CGRAPH_COMPILER_COST_COST_H_
