// The machine by which pipelines are measured: messages take a given time, and apart from the
// pipeline's calls nothing else takes any.
#ifndef CGRAPH_BENCH_SCHEDULE_HARNESS_TOPOLOGY_H_
#define CGRAPH_BENCH_SCHEDULE_HARNESS_TOPOLOGY_H_

#include <cstdint>
#include <string>

#include "compiler/cost/topology.h"

namespace cgraph::bench {

// Returns a topology in which links between devices have a latency of that many picoseconds and
// unlimited bandwidth; the caller's work takes no time.
cost::Topology TopologyWithDelay(std::string name, uint64_t delay);

}  // namespace cgraph::bench

#endif  // CGRAPH_BENCH_SCHEDULE_HARNESS_TOPOLOGY_H_
