// Simulate: computes how long a plan takes, lane by lane in simulated time, without running it.
//
// Every lane runs its list round after round; waits, transfers, capacities, collectives and
// captures hold it up exactly as docs/plan.md says. Where workers are given, they run the lanes as
// the engine's do: each its own lanes' instructions one at a time. Beside the makespan stand lower
// bounds that no schedule of the same operations on the same lanes can beat, so that everyone sees
// how far this one can be from the best possible. Times are whole picoseconds.
#ifndef CGRAPH_COMPILER_INSPECT_SIMULATE_H_
#define CGRAPH_COMPILER_INSPECT_SIMULATE_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/cost/profile.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/trace.h"

namespace llvm::json {
class Value;
}

namespace cgraph {

namespace cost {
struct Topology;
}

struct SimulateOptions {
  const Profile* profile = nullptr;  // null: the times that the plan expects
  // The machine, where one is stated: its times are those of everything that the profile does not
  // name, and the resources that its links share are held. Null: the times that the plan expects.
  const cost::Topology* topology = nullptr;
  // Submitted back to back, all at time 0. Of a graph that repeats: rounds, each when the one
  // before is over; what stands before the rounds is executed once.
  uint32_t executions = 1;
  // Threads that run the lanes, as plan::Place() shares them out; 0: each lane runs by itself.
  // Otherwise the plan must be proved, since workers follow its certificate.
  uint32_t workers = 0;
  uint32_t cores = 0;  // that the workers share; 0: one for each
  bool instants = false;             // events for instructions that take no time, too
};

// DeviceTimes: the three times of a device add up to the makespan.
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
  // The work of the worker that has most of it; 0 without workers.
  uint64_t busiest_worker = 0;
  std::vector<DeviceTimes> devices;    // by device of the plan
  std::vector<uint64_t> workers;       // by worker: how long it works
  std::vector<uint64_t> memory;        // by device: bytes that the graph's arenas and states take
  // Events by round, then lane, in the lane's order. Time between a lane's events is waiting, and
  // so is, in a transfer, the time from `start` (this end is ready) to `active` (the other end is
  // too).
  std::vector<plan::TraceEvent> events;

  bool measured = false;  // it was no simulation, but a run
  std::string ended;      // how that ended, as "failed"; empty: well

  bool deadlocks() const { return !stuck.empty(); }
  uint64_t lower_bound() const {
    return std::max({longest_path, through_lane, busiest_resource, busiest_worker});
  }
  // Returns makespan / lower_bound - 1: 0 is provably the best; 0 when there is nothing to do.
  double gap() const;
  // Returns the share of the makespan in which a device that computes at all does not, over all
  // such devices. 0 when none computes.
  double bubble() const;
  bool computes() const;  // any device at all
  double bubble(uint32_t device) const;
};

// Simulates a graph. `graph`: index into the plan's graphs, kNone for the start graph. CheckPlan
// must have accepted the plan. It need not be proved: `stuck` describes a deadlock.
Simulation Simulate(const plan::Plan& plan, uint32_t graph, const SimulateOptions& options = {});

// Returns what a run of the graph was measured to take, from the text of its trace (cgrun
// --trace), in the form of a simulation, without bounds. A lane's wait belongs to the event that
// follows: it is the time before `active`. `executions`: only so many, the first; 0: all. Refuses
// what is no trace, or that of another plan.
llvm::Expected<Simulation> MeasuredRun(const plan::Plan& plan, uint32_t graph,
                                       llvm::StringRef trace, uint32_t executions = 0);

// ---- what a simulation says, for people and for programs

// "bubble 11.1 %", or why there is none.
std::string BubbleText(const Simulation& simulation);
// Returns "machine: NAME", and of the one that is assumed, that another can be stated; of a plan
// over several nodes also what is assumed of the network, and that times there are bounds. A second
// line has the rates of the plan's devices, where they are known: `stated`, null for the machine
// that the plan names.
std::string MachineText(const plan::Plan& plan, const cost::Topology* stated);
// Returns the methods in native code, as "Actor.method", that the graphs call and of which neither
// the program says a cost nor the profile a time; `profile` may be null.
std::vector<std::string> MethodsWithoutCost(const plan::Plan& plan,
                                            llvm::ArrayRef<uint32_t> graphs,
                                            const Profile* profile);
// A line about such methods, and how their cost is said; "" where there are none.
std::string CostlessText(const std::vector<std::string>& methods);
// Per device busy, transfer, waiting, bubble; the makespan, the lower bounds and the gap.
std::string SimulationTable(const plan::Plan& plan, uint32_t graph, const Simulation& simulation);
// A bubble is null of what never computes.
llvm::json::Value SimulationJson(const plan::Plan& plan, uint32_t graph,
                                 const Simulation& simulation);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_SIMULATE_H_
