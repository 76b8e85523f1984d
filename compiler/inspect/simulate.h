// Simulate: what a plan takes, lane by lane in simulated time, without running it.
//
// Every lane runs its list round after round; waits, transfers, capacities, collectives and
// captured segments hold it up exactly as docs/plan.md says. Where workers are given, they run the
// lanes as the engine's do: each its own lanes' instructions one at a time. Beside the makespan
// stand lower bounds that no schedule of the same operations on the same lanes can beat, so that
// everyone sees how far this one can be from the best possible. Times are whole picoseconds.
#ifndef CGRAPH_COMPILER_INSPECT_SIMULATE_H_
#define CGRAPH_COMPILER_INSPECT_SIMULATE_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/cost/profile.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/trace.h"

namespace cgraph {

namespace cost {
struct Topology;
}

struct SimulateOptions {
  const Profile* profile = nullptr;  // null: the times that the plan expects
  // The machine, where one is stated: its times are those of everything that the profile does not
  // name, and what its links share is held. Null: what the plan expects.
  const cost::Topology* topology = nullptr;
  uint32_t executions = 1;           // submitted back to back, all at time 0
  // Threads that run the lanes, as plan::Place() shares them out; 0: each lane runs by itself. The
  // plan is a proved one then: workers follow its certificate.
  uint32_t workers = 0;
  uint32_t cores = 0;  // that the workers share; 0: one for each
  bool instants = false;             // events for instructions that take no time, too
};

// The three times add up to the makespan.
struct DeviceTimes {
  uint64_t busy = 0;      // a call runs on it
  uint64_t transfer = 0;  // no call runs, but bytes move
  uint64_t waiting = 0;   // neither
};

struct Simulation {
  // lanes that wait for ever and for what; then nothing else is set
  std::vector<std::string> stuck;
  uint32_t executions = 0;
  uint64_t makespan = 0;
  uint64_t longest_path = 0;       // of data and state dependencies
  uint64_t through_lane = 0;       // a lane's work, and the least before and after it
  uint64_t busiest_resource = 0;   // how long what goes through it holds it, over its capacity
  std::string resource;            // which that is; empty: nothing is shared
  // What a worker computes in all, of that which has most to do; 0 without workers.
  uint64_t busiest_worker = 0;
  std::vector<DeviceTimes> devices;    // by device of the plan
  std::vector<uint64_t> workers;       // by worker: how long it works
  std::vector<uint64_t> memory;        // by device: bytes that the graph's arenas and states take
  // By round, then lane, in the lane's order. Waiting is what lies between a lane's events, and, in
  // a transfer, from `start` (this end is ready) to `active` (the other is too).
  std::vector<plan::TraceEvent> events;

  bool hangs() const { return !stuck.empty(); }
  uint64_t lower_bound() const {
    return std::max({longest_path, through_lane, busiest_resource, busiest_worker});
  }
  // makespan / lower_bound - 1: 0 is provably the best; 0 when there is nothing to do.
  double gap() const;
  // Of the makespan, the share in which a device that computes at all does not; over all such
  // devices. 0 when none computes.
  double bubble() const;
  bool computes() const;  // any device at all
  double bubble(uint32_t device) const;
};

// `graph`: index into the plan's graphs, kNone for the start graph. The plan is one that CheckPlan
// accepts; it need not be proved: one that hangs is told by `stuck`.
Simulation Simulate(const plan::Plan& plan, uint32_t graph, const SimulateOptions& options = {});

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_SIMULATE_H_
