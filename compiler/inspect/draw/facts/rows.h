// In which row of a schedule's drawing each operation stands: below what it waits for.
#ifndef CGRAPH_COMPILER_INSPECT_DRAW_FACTS_ROWS_H_
#define CGRAPH_COMPILER_INSPECT_DRAW_FACTS_ROWS_H_

#include <cstdint>
#include <set>
#include <vector>

#include "compiler/inspect/draw/facts/operations.h"
#include "runtime/plan/graph_index.h"
#include "runtime/plan/plan.h"

namespace cgraph {

// By operation: those on other lanes that it waits for, by event, in the same round.
std::vector<std::set<uint32_t>> FindAwaited(const plan::Graph& graph, const Operations& operations);

// By operation, from 0. The ends of a rendezvous and the parts of a collective share a row, as far
// as the plan can go on: of one that hangs the rest is placed by its certificate. `index` has its
// messages.
std::vector<uint32_t> FindRows(const plan::GraphIndex& index, const Operations& operations,
                               const std::vector<std::set<uint32_t>>& awaited);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_DRAW_FACTS_ROWS_H_
