// The ids of what a module and its graphs are made of.
#ifndef CGRAPH_COMPILER_GRAPH_IDS_H_
#define CGRAPH_COMPILER_GRAPH_IDS_H_

#include "compiler/base/ids.h"

namespace cgraph::graph {

#define CGRAPH_GRAPH_ID(Name, prefix)              \
  struct Name : Id<Name> {                         \
    static constexpr const char* kPrefix = prefix; \
    using Id::Id;                                  \
  };
CGRAPH_GRAPH_ID(DeviceId, "device")      // of the module
CGRAPH_GRAPH_ID(InstanceId, "instance")  // of the module: one actor at one place
CGRAPH_GRAPH_ID(StateId, "state")        // of the module: one state variable, or one list element
CGRAPH_GRAPH_ID(SymbolId, "symbol")
CGRAPH_GRAPH_ID(ValueId, "value")
CGRAPH_GRAPH_ID(OpId, "op")
CGRAPH_GRAPH_ID(CallId, "call")
#undef CGRAPH_GRAPH_ID

}  // namespace cgraph::graph

#endif  // CGRAPH_COMPILER_GRAPH_IDS_H_
