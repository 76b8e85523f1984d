#include "compiler/graph/rewrite.h"

#include <algorithm>

#include "compiler/graph/rewrite/passes.h"

namespace cgraph {
namespace {

constexpr RewriteInfo kRewrites[] = {
#define REWRITE(function, name, what) {name, what, graph::function},
#include "compiler/graph/rewrite/rewrites.def"
};

}  // namespace

std::span<const RewriteInfo> Rewrites() { return kRewrites; }

std::vector<Rewritten> Rewrite(graph::Module& module, const RewriteOptions& options) {
  const auto is_off = [&](const char* name) {
    return std::find(options.off.begin(), options.off.end(), name) != options.off.end();
  };
  std::vector<Rewritten> done;
  if (is_off("all")) return done;
  for (graph::Graph& graph : module.graphs) {
    RewriteOptions here = options;
    here.memory_is_limited |= graph.rules && !graph.rules->memory.empty();
    for (const RewriteInfo& info : Rewrites()) {
      const size_t before = done.size();
      if (!is_off(info.name)) info.run(module, here, graph, done);
      for (size_t i = before; i < done.size(); ++i) {
        done[i].rewrite = info.name;
        done[i].graph = graph.name;
      }
    }
  }
  return done;
}

}  // namespace cgraph
