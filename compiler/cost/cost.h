// What things cost, in integer picoseconds, from one table of assumed rates.
//
// A kernel takes a device's overhead plus the longer of its arithmetic and its memory traffic; a
// transfer takes alpha + bytes / beta. Integers only, so that one source gives one plan on every
// machine. They are of the machine that a topology states, else of one that is assumed; a profile
// replaces those of calls.
#ifndef CGRAPH_COMPILER_COST_COST_H_
#define CGRAPH_COMPILER_COST_COST_H_

#include <cstdint>
#include <optional>
#include <string>

#include "compiler/base/collective.h"
#include "compiler/cost/machine.h"

namespace cgraph::cost {

constexpr uint64_t kEndless = 0;  // as a rate: what it does takes no time

struct LinkRates {
  uint64_t latency_ps;
  uint64_t hop_ps;                // of each further step of a collective
  uint64_t bytes_per_us;
};

// What is assumed of every device and every transfer, and the machine, if one is stated: then its
// numbers hold, and what is assumed only of what it leaves open.
struct Topology {
  std::string name;
  DeviceRates cpu, gpu;
  LinkRates local_copy, shm, nccl, host;
  std::optional<Machine> machine;
};
const Topology& AssumedTopology();

// amount / rate, rounded up; the largest time where that overflows.
uint64_t MovePicoseconds(uint64_t bytes, uint64_t bytes_per_us);
uint64_t KernelPicoseconds(const DeviceRates& device, uint64_t flops, uint64_t bytes);
uint64_t TransferPicoseconds(const LinkRates& link, uint64_t bytes);

// A collective in which `bytes` are what one participant gives (of broadcast and scatter: the
// root), around a ring or, of an all_reduce of little, up and down a tree.
uint64_t CollectivePicoseconds(const LinkRates& link, CollectiveKind kind, uint64_t participants,
                               uint64_t bytes);

}  // namespace cgraph::cost

#endif  // CGRAPH_COMPILER_COST_COST_H_
