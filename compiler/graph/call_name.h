// A call under the name by which a profile knows it.
#ifndef CGRAPH_COMPILER_GRAPH_CALL_NAME_H_
#define CGRAPH_COMPILER_GRAPH_CALL_NAME_H_

#include "compiler/cost/call_times.h"
#include "compiler/graph/graph.h"

namespace cgraph::graph {

inline cost::CallName NameOf(const Module& module, const Call& call) {
  if (!call.instance.valid()) return {{}, {}, call.method};
  const Instance& on = module.instances[call.instance];
  return {on.name, on.actor, call.method};
}

}  // namespace cgraph::graph

#endif  // CGRAPH_COMPILER_GRAPH_CALL_NAME_H_
