// The ids of what a module and its graphs are made of.
#ifndef CGRAPH_COMPILER_GRAPH_IDS_H_
#define CGRAPH_COMPILER_GRAPH_IDS_H_

#include "compiler/base/ids.h"

namespace cgraph::graph {

CGRAPH_ID(DeviceId, "device")      // of the module
CGRAPH_ID(InstanceId, "instance")  // of the module: one actor at one place
CGRAPH_ID(StateId, "state")        // of the module: one state variable, or one list element
CGRAPH_ID(SymbolId, "symbol")
CGRAPH_ID(ValueId, "value")
CGRAPH_ID(OpId, "op")
CGRAPH_ID(CallId, "call")

}  // namespace cgraph::graph

#endif  // CGRAPH_COMPILER_GRAPH_IDS_H_
