#include "bench/schedule_harness/topology.h"

#include <utility>

namespace cgraph::bench {

cost::Topology TopologyWithDelay(std::string name, uint64_t delay) {
  cost::Topology topology = cost::AssumedTopology();
  topology.name = std::move(name);
  for (cost::LinkRates* link : {&topology.local_copy, &topology.shm, &topology.host}) {
    *link = {0, 0, cost::kEndless};
  }
  topology.nccl = {delay, 0, cost::kEndless};
  topology.gpu = {0, cost::kEndless, cost::kEndless};
  return topology;
}

}  // namespace cgraph::bench
