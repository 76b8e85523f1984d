// The order of a plan's operations as drawings show it: rows, what state and barriers ask for, and
// what was moved against program order.
#ifndef CGRAPH_COMPILER_INSPECT_DRAW_ORDER_ORDER_H_
#define CGRAPH_COMPILER_INSPECT_DRAW_ORDER_ORDER_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "compiler/inspect/draw/facts/operations.h"
#include "runtime/plan/graph_index.h"
#include "runtime/plan/plan.h"

namespace cgraph {

// Which operation follows which other one because of an actor's state.
struct StateOrder {
  uint32_t before = 0, after = 0;  // operations
  std::string state;               // its name in its actor
  bool reads = false;  // `after` reads what `before` wrote; else it overwrites what `before` used
};

// Within one execution, in program order of `after`, each once; not reduced.
std::vector<StateOrder> FindStateOrder(const plan::Plan& plan, const plan::Graph& graph,
                                       const Operations& operations);

// An operation that a barrier orders behind another one; one of the two is a part of the barrier.
struct BarrierOrder {
  uint32_t before = 0, after = 0;  // operations
};

// On each device, all since the barrier before; not reduced. The caller's inputs and outputs are
// held back by none.
std::vector<BarrierOrder> FindBarrierOrder(const plan::Plan& plan, const plan::Graph& graph,
                                           const Operations& operations);

// What drawings call the state in which an actor keeps its object of native code or Python: no
// program names it.
inline constexpr const char* kObjectName = "its object";

// The state that a value lies in; "" for none.
std::string StateName(const plan::Plan& plan, const plan::Graph& graph, uint32_t value);

// By operation: those on other lanes that it waits for, by event, in the same round.
std::vector<std::set<uint32_t>> FindAwaited(const plan::Graph& graph, const Operations& operations);

// In which row of a schedule's drawing each operation stands, from 0: below what it waits for. By
// operation. The ends of a rendezvous and the parts of a collective share a row, as far as the plan
// can go on: of one that deadlocks the rest is placed by its certificate. `index` has its messages.
std::vector<uint32_t> FindRows(const plan::GraphIndex& index, const Operations& operations,
                               const std::vector<std::set<uint32_t>>& awaited);

// By operation: one of its lane that the program has on the other side of it; kNone for what stands
// in program order. Of each lane the fewest operations moved, so that the others are in order;
// where there is a choice it is the one that runs early. A call and a collective have one place in
// the program. No line of it says when a transfer or a copy takes place: that stands anywhere
// between what makes the value and what uses it first, an input before its use, and an output after
// what makes it.
std::vector<uint32_t> FindMoved(const plan::Plan& plan, const plan::Graph& graph,
                                const Operations& operations);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_DRAW_ORDER_ORDER_H_
