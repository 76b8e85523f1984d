// What a simulation says, for people and for programs.
#ifndef CGRAPH_COMPILER_INSPECT_SIMULATION_REPORT_H_
#define CGRAPH_COMPILER_INSPECT_SIMULATION_REPORT_H_

#include <cstdint>
#include <string>

#include "compiler/inspect/simulate.h"
#include "llvm/Support/JSON.h"
#include "runtime/plan/plan.h"

namespace cgraph {

// "bubble 11.1 %", or why there is none.
std::string BubbleText(const Simulation& simulation);
// "machine: NAME", and of the one that is assumed, that another can be stated.
std::string MachineText(const std::string& name);
// Per device busy, transfer, waiting, bubble; the makespan, the lower bounds and the gap.
std::string SimulationTable(const plan::Plan& plan, uint32_t graph, const Simulation& simulation);
// A bubble is null of what never computes.
llvm::json::Value SimulationJson(const plan::Plan& plan, uint32_t graph,
                                 const Simulation& simulation);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_SIMULATION_REPORT_H_
