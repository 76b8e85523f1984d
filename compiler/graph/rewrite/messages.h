// Messages between devices, as rewrites see them before there is a schedule: what carries one, and
// at what rates.
#ifndef CGRAPH_COMPILER_GRAPH_REWRITE_MESSAGES_H_
#define CGRAPH_COMPILER_GRAPH_REWRITE_MESSAGES_H_

#include <optional>

#include "compiler/cost/costs.h"
#include "compiler/graph/graph.h"

namespace cgraph::graph {

// What carries a use that is sent as a message, and nothing for one that is not.
std::optional<Transport> MessageOf(const Module& module, DeviceId from, DeviceId to, Transport via);
cost::LinkRates LinkOf(const Module& module, const cost::Costs& costs, DeviceId from, DeviceId to,
                       Transport message);

}  // namespace cgraph::graph

#endif  // CGRAPH_COMPILER_GRAPH_REWRITE_MESSAGES_H_
