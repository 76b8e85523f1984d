// A device under the name by which costs know it.
#ifndef CGRAPH_COMPILER_GRAPH_DEVICE_KEY_H_
#define CGRAPH_COMPILER_GRAPH_DEVICE_KEY_H_

#include "compiler/cost/machine.h"
#include "compiler/graph/graph.h"

namespace cgraph::graph {

cost::DeviceKey DeviceKeyOf(const Device& device);

}  // namespace cgraph::graph

#endif  // CGRAPH_COMPILER_GRAPH_DEVICE_KEY_H_
