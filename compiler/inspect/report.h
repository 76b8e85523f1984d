// What a simulation says, for people and for programs.
#ifndef CGRAPH_COMPILER_INSPECT_REPORT_H_
#define CGRAPH_COMPILER_INSPECT_REPORT_H_

#include <cstdint>
#include <string>

#include "compiler/inspect/simulate.h"
#include "llvm/Support/JSON.h"
#include "runtime/plan/plan.h"

namespace cgraph {

// "33 ps", "1.204 us": the largest unit in which it is at least 1, at most three decimals.
std::string TimeText(uint64_t picoseconds);

// Per device busy, transfer, waiting, bubble; the makespan, the lower bounds and the gap.
std::string SimulationTable(const plan::Plan& plan, uint32_t graph, const Simulation& simulation);
llvm::json::Value SimulationJson(const plan::Plan& plan, uint32_t graph,
                                 const Simulation& simulation);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_REPORT_H_
