// Routes: what `via` says, and whether an operand can travel that way to where it is read.
#ifndef CGRAPH_COMPILER_ELABORATE_PLACES_ROUTES_H_
#define CGRAPH_COMPILER_ELABORATE_PLACES_ROUTES_H_

#include "compiler/graph/graph.h"
#include "compiler/program/program.h"

namespace cgraph::elaborate {

struct Work;

// The capacities of the named transports.
void EvaluateTransports(Work& work);

Journey JourneyOf(const Work& work, const program::Route& route);

// Reports a use at `to` that the value's transport does not reach.
void CheckTransport(Work& work, const graph::Use& use, graph::DeviceId to);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_PLACES_ROUTES_H_
