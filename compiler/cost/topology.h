// Topology: what costs are worked out from: rates of kernels and transfers that are assumed, and
// the machine that a program or a flag states. Integers only, so that one source gives one plan
// everywhere.
#ifndef CGRAPH_COMPILER_COST_TOPOLOGY_H_
#define CGRAPH_COMPILER_COST_TOPOLOGY_H_

#include <cstdint>
#include <optional>
#include <string>

#include "compiler/base/source.h"
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
  std::string parameters;  // as they are declared, "cores: int = 2"; empty: none
  Range range;             // where it is stated; invalid: nowhere
  DeviceRates cpu, gpu;
  LinkRates local_copy, shm, nccl, host;
  LinkRates network;  // between two machines
  std::optional<Machine> machine;
};
const Topology& AssumedTopology();

}  // namespace cgraph::cost

#endif  // CGRAPH_COMPILER_COST_TOPOLOGY_H_
