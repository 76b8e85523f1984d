// Which operation follows which other one because of an actor's state.
#ifndef CGRAPH_COMPILER_INSPECT_DRAW_FACTS_STATE_ORDER_H_
#define CGRAPH_COMPILER_INSPECT_DRAW_FACTS_STATE_ORDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/inspect/draw/facts/operations.h"
#include "runtime/plan/plan.h"

namespace cgraph {

struct StateOrder {
  uint32_t before = 0, after = 0;  // operations
  std::string state;               // its name in its actor
  bool reads = false;  // `after` reads what `before` wrote; else it overwrites what `before` used
};

// Within one execution, in program order of `after`, each once; not reduced.
std::vector<StateOrder> FindStateOrder(const plan::Plan& plan, const plan::Graph& graph,
                                       const Operations& operations);

// The state that a value lies in; "" for none.
std::string StateName(const plan::Plan& plan, const plan::Graph& graph, uint32_t value);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_DRAW_FACTS_STATE_ORDER_H_
