// Placement: which worker drives which lane, and in which strand.
#ifndef CGRAPH_RUNTIME_ENGINE_LOAD_PLACEMENT_H_
#define CGRAPH_RUNTIME_ENGINE_LOAD_PLACEMENT_H_

#include <cstdint>
#include <vector>

#include "runtime/plan/plan.h"

namespace cgraph::engine {

struct Placement {
  uint32_t workers = 1;
  std::vector<uint32_t> worker_of_strand;
  std::vector<uint32_t> strand_of_lane;
};

// The plan's own partition where it has `workers` of them (0: the plan's number, at most the
// cores); otherwise devices in order, in equal shares, the caller's with worker 0. `merged`: one
// strand per worker; else one per lane.
Placement Place(const plan::Plan& plan, uint32_t workers, bool merged);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_LOAD_PLACEMENT_H_
