// Which micro-batch an operation works for: the part of the graph's inputs on which its data
// depends.
//
// A pipeline cuts an input into equal rows, x[0], x[1], ..., or takes a list of inputs, xs[0],
// xs[1], ...; what is computed of part k, forwards or backwards, is of micro-batch k. State is not
// followed: a weight belongs to all of them. Parts are micro-batches only where one method of one
// actor is called for several of them; where each part has actors of its own they are shards.
#ifndef CGRAPH_COMPILER_INSPECT_DRAW_FACTS_MICRO_BATCHES_H_
#define CGRAPH_COMPILER_INSPECT_DRAW_FACTS_MICRO_BATCHES_H_

#include <cstdint>
#include <vector>

#include "runtime/plan/plan.h"

namespace cgraph {

// By instruction; kNone for what depends on no part or on several, and everywhere in a graph
// without micro-batches.
std::vector<uint32_t> FindMicroBatches(const plan::Plan& plan, const plan::Graph& graph);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_DRAW_FACTS_MICRO_BATCHES_H_
