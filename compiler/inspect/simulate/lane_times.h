// LaneTimes: a plan's lanes as a periodic graph: a start and an end for each instruction, and what
// holds them.
//
// The edges are those of docs/plan.md, with times on them: an instruction's own or, where lanes act
// together, that of their meeting, a moment that begins when all of them are ready. Where workers
// are given, a lane's order is its worker's: one instruction at a time, in the order of the
// certificate, so that an instruction that a worker waits for holds up all its lanes. (It runs
// captures step by step.) A round begins when the one `inflight` before it is over everywhere.
#ifndef CGRAPH_COMPILER_INSPECT_SIMULATE_LANE_TIMES_H_
#define CGRAPH_COMPILER_INSPECT_SIMULATE_LANE_TIMES_H_

#include <cstdint>
#include <map>
#include <vector>

#include "compiler/inspect/simulate/movements.h"
#include "compiler/inspect/simulate/periodic.h"
#include "runtime/plan/placement.h"
#include "runtime/plan/plan.h"

namespace cgraph {

struct LaneTimes {
  // Moment 2i is the start of instruction i, 2i + 1 its end; further ones are meetings.
  PeriodicGraph moments;
  // By moment: the time it takes, and the instruction that must have an execution to work for if
  // the moment is to take any time (kNone: it always does).
  std::vector<uint64_t> weights;
  std::vector<uint32_t> only_for;
  // The moments that hold shared resources, with the instruction that says which.
  std::map<uint32_t, uint32_t> holders;

  static uint32_t Start(uint32_t instruction) { return 2 * instruction; }
  static uint32_t End(uint32_t instruction) { return 2 * instruction + 1; }
};

// `placement`: null where each lane runs by itself.
LaneTimes TimeLanes(const plan::Plan& plan, const plan::Graph& graph,
                    const std::vector<uint64_t>& durations, const Movements& movements,
                    const plan::Placement* placement);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_SIMULATE_LANE_TIMES_H_
