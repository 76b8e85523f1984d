#include "compiler/pipeline/stage_links.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace cgraph::pipeline {

StageLinks LinksOf(const graph::Graph& graph, const std::vector<std::optional<Action>>& actions) {
  StageLinks links;
  std::vector<std::set<uint32_t>> sources(graph.calls.size());  // stages of forwards behind a call
  for (const graph::Op& op : graph.ops) {
    const std::optional<Action>& action = actions[op.call.index];
    const bool forward = action && action->kind == ActionKind::kForward;
    if (forward) sources[op.call.index] = {action->stage};
    if (action && !forward) continue;
    for (const graph::Use& use : op.operands) {
      const graph::CallId maker = graph::MakerOf(graph, use.value);
      if (!maker.valid() || maker == op.call) continue;
      for (uint32_t stage : sources[maker.index]) {
        if (!forward) sources[op.call.index].insert(stage);
        else if (stage != action->stage) links.insert({stage, action->stage});
      }
    }
  }
  return links;
}

std::vector<std::vector<uint32_t>> Joined(const StageLinks& links, size_t stages) {
  std::vector<uint32_t> parent(stages);
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](uint32_t stage) {
    while (parent[stage] != stage) stage = parent[stage] = parent[parent[stage]];
    return stage;
  };
  for (const auto& [from, to] : links) {
    const uint32_t one = root(from), other = root(to);
    parent[std::max(one, other)] = std::min(one, other);
  }
  std::map<uint32_t, std::vector<uint32_t>> groups;
  for (uint32_t stage = 0; stage < stages; ++stage) groups[root(stage)].push_back(stage);
  std::vector<std::vector<uint32_t>> joined;
  for (auto& [first, group] : groups) joined.push_back(std::move(group));
  return joined;
}

}  // namespace cgraph::pipeline
