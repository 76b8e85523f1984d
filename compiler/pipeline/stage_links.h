// Links of stages: which stage's forwards use what another's have made, themselves or by way of
// calls that are none of the pipeline's. They show which stages are one pipeline.
#ifndef CGRAPH_COMPILER_PIPELINE_STAGE_LINKS_H_
#define CGRAPH_COMPILER_PIPELINE_STAGE_LINKS_H_

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "compiler/pipeline/order.h"

namespace cgraph::pipeline {

using StageLinks = std::set<std::pair<uint32_t, uint32_t>>;  // the maker's stage, the user's

// `actions`: by call; nothing for calls that are no action.
StageLinks LinksOf(const graph::Graph& graph, const std::vector<std::optional<Action>>& actions);

// Returns the stages that links join, each with those that it is joined to by any number of them:
// in order within one, and by their first.
std::vector<std::vector<uint32_t>> Joined(const StageLinks& links, size_t stages);

}  // namespace cgraph::pipeline

#endif  // CGRAPH_COMPILER_PIPELINE_STAGE_LINKS_H_
