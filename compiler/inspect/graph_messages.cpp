#include "compiler/inspect/graph_messages.h"

namespace cgraph {

plan::GraphIndex IndexMessages(const plan::Plan& plan, const plan::Graph& graph) {
  plan::GraphIndex index(plan, graph);
  index.IndexMessages();
  return index;
}

std::vector<CollectiveParts> CollectivesOf(const plan::GraphIndex& index) {
  const CollectiveParts all = index.collective_parts();
  std::vector<CollectiveParts> collectives;
  for (size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    while (end < all.size() && all[end].communicator == all[begin].communicator &&
           all[end].turn == all[begin].turn) {
      ++end;
    }
    collectives.push_back(all.subspan(begin, end - begin));
  }
  return collectives;
}

std::optional<size_t> SenderOf(const plan::Graph& graph, CollectiveParts parts) {
  if ((graph.parts[parts[0].part].flags() & plan::kIsMessage) == 0) return std::nullopt;
  return graph.parts[parts[0].part].inputs() > 0 ? 0 : 1;
}

}  // namespace cgraph
