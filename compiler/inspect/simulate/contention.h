// Contention: plays a plan where moments need tokens of shared resources.
//
// Shared resources bring a choice: first come, first served, and of two that come at once the one
// of the earlier round, then of the earlier moment. So the play goes event by event instead of
// round by round. A moment takes all its tokens at once, keeps them for its own stated time, and
// waits for none while it holds some: so it cannot cause a deadlock.
#ifndef CGRAPH_COMPILER_INSPECT_SIMULATE_CONTENTION_H_
#define CGRAPH_COMPILER_INSPECT_SIMULATE_CONTENTION_H_

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "compiler/cost/topology.h"
#include "compiler/inspect/simulate/lane_times.h"
#include "compiler/inspect/simulate/movements.h"
#include "compiler/inspect/simulate/periodic.h"

namespace cgraph {

struct Hold {
  std::vector<uint32_t> resources;  // one as often as tokens of it, those next to each other
  uint64_t time = 0;
};

struct Contention {
  std::map<uint32_t, Hold> holds;   // by moment
  std::vector<uint32_t> tokens;     // by resource
  std::vector<std::string> names;   // by resource
};

// Returns the resources that links share, by the machine; nothing where none is stated.
Contention ContentionOf(const LaneTimes& lane_times, const Movements& movements,
                        const cost::Topology* topology);

// Makes cores a shared resource: everything that takes time takes one of `cores` for as long; the
// first to come keeps it until it is done.
void ShareCores(const LaneTimes& lane_times, uint32_t cores, Contention& contention);

// As PeriodicGraph::Play; `graph` has been sorted. A moment whose weight is 0 holds nothing.
void PlayContended(const PeriodicGraph& graph, const Contention& contention, uint64_t rounds,
                   const std::function<uint64_t(uint32_t, uint64_t)>& weight,
                   const std::function<void(uint64_t, std::span<const uint64_t>)>& see);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_SIMULATE_CONTENTION_H_
