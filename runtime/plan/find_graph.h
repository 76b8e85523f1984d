// Which graph of a plan `--graph` means; the same for cgc and cgrun.
#ifndef CGRAPH_RUNTIME_PLAN_FIND_GRAPH_H_
#define CGRAPH_RUNTIME_PLAN_FIND_GRAPH_H_

#include <cstdint>
#include <string>

#include "runtime/plan/plan.h"
#include "runtime/status/status.h"

namespace cgraph::plan {

// The index of the graph that is called `name`; without a name, of the only one. Otherwise kInvalid
// says which graphs there are.
Result<uint32_t> FindGraph(const Plan& plan, const std::string& name);

}  // namespace cgraph::plan

#endif  // CGRAPH_RUNTIME_PLAN_FIND_GRAPH_H_
