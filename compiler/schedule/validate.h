// Validate a Schedule: what one pass promises to those after it.
//
// Each function names the first thing that is wrong, empty for nothing; Validate CHECKs that there
// is nothing, since it would be a bug of ours.
#ifndef CGRAPH_COMPILER_SCHEDULE_VALIDATE_H_
#define CGRAPH_COMPILER_SCHEDULE_VALIDATE_H_

#include <string>

#include "compiler/graph/graph.h"
#include "compiler/schedule/ir.h"

namespace cgraph::schedule {

// After whatever makes or changes the order: ids are in range and of their kind; every step is in
// one unit, every unit in its lane, at its index, and the lanes' orders are that of the round; ends
// of a transfer and parts of a collective are neighbours, on the lanes of their channel or group;
// in an execution nothing reads a slot before something wrote it; no lag is as long as executions
// are in flight.
std::string FaultInOrder(const graph::Module& module, const graph::Graph& graph,
                         const Schedule& schedule);

// After Synchronise: waits are for units of other lanes that signal, and within a round for earlier
// ones, so that nothing waits in a circle.
std::string FaultInWaits(const Schedule& schedule);

// After PlanMemory: slots stand on boundaries, locations lie in their buffers, and what one step
// reads in a slot buffer shares no byte with another one that it writes.
std::string FaultInMemory(const graph::Graph& graph, const Schedule& schedule);

// `phase`: whose fault it is, for the message.
void Validate(const std::string& fault, const graph::Graph& graph, const char* phase);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_VALIDATE_H_
