// The machine by which pipelines are measured: messages take a time, and nothing else that is no
// call of theirs takes any.
#ifndef CGRAPH_BENCH_SCHEDULE_HARNESS_TOPOLOGY_H_
#define CGRAPH_BENCH_SCHEDULE_HARNESS_TOPOLOGY_H_

#include <cstdint>
#include <string>

#include "compiler/cost/topology.h"

namespace cgraph::bench {

// Links between devices delay by so many picoseconds and have no end of bandwidth; what the caller
// does takes no time.
cost::Topology TopologyWithDelay(std::string name, uint64_t delay);

}  // namespace cgraph::bench

#endif  // CGRAPH_BENCH_SCHEDULE_HARNESS_TOPOLOGY_H_
