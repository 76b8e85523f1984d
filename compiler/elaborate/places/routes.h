// Routes: what `via` says, and whether an operand can travel that way to where it is read.
#ifndef CGRAPH_COMPILER_ELABORATE_PLACES_ROUTES_H_
#define CGRAPH_COMPILER_ELABORATE_PLACES_ROUTES_H_

#include "compiler/graph/graph.h"
#include "compiler/program/program.h"

namespace cgraph::elaborate {

struct ElaborationContext;

// The capacities of the named transports.
void EvaluateTransports(ElaborationContext& elaboration);

TransportRequest JourneyOf(const ElaborationContext& elaboration, const program::Route& route);

// Reports a use at `to` that the value's transport does not reach.
void CheckTransport(ElaborationContext& elaboration, const graph::Use& use, graph::DeviceId to);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_PLACES_ROUTES_H_
