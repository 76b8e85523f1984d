// The collectives of a graph, one after the other, with what their members move.
#ifndef CGRAPH_RUNTIME_LOAD_COMMUNICATION_COLLECTIVES_H_
#define CGRAPH_RUNTIME_LOAD_COMMUNICATION_COLLECTIVES_H_

#include <cstddef>
#include <functional>
#include <span>

#include "runtime/base/status.h"
#include "runtime/plan/graph_index.h"
#include "runtime/plan/plan.h"
#include "runtime/transport/collective.h"

namespace cgraph::engine {

// Visits each collective of a round: its parts, by member, and the place of the first of them among
// all parts of collectives. Ends with the first status that is not ok. The messages of the index
// are there (GraphIndex::IndexMessages).
using CollectiveVisitor =
    std::function<Status(size_t first, std::span<const plan::CollectivePart> parts)>;
Status ForEachCollective(const plan::Plan& plan, const plan::GraphIndex& index,
                         const CollectiveVisitor& visit);

// Returns the shape of the collective that these parts, by member, are.
transport::CollectiveShape ShapeOf(const plan::Graph& graph,
                                 std::span<const plan::CollectivePart> parts);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_COMMUNICATION_COLLECTIVES_H_
