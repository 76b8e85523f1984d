// Where a graph's lanes meet, as the plan's index finds it.
#ifndef CGRAPH_COMPILER_INSPECT_GRAPH_MESSAGES_H_
#define CGRAPH_COMPILER_INSPECT_GRAPH_MESSAGES_H_

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "runtime/plan/graph_index.h"
#include "runtime/plan/plan.h"

namespace cgraph {

// An index with its messages. A channel's j-th send of a round matches its j-th receive.
plan::GraphIndex IndexMessages(const plan::Plan& plan, const plan::Graph& graph);

// The part of every member in one collective.
using CollectiveParts = std::span<const plan::CollectivePart>;

// Returns the parts of every collective of a round. The index must outlive them.
std::vector<CollectiveParts> CollectivesOf(const plan::GraphIndex& index);

// Returns the sender's place among the two parts of a collective that is a message
// (plan::kIsMessage); nothing of any other.
std::optional<size_t> SenderOf(const plan::Graph& graph, CollectiveParts parts);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_GRAPH_MESSAGES_H_
