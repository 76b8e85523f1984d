// The passes of rewrites.def, each in the file of its name (the two pairs of collectives share
// one), and what several of them use.
#ifndef CGRAPH_COMPILER_GRAPH_REWRITE_PASSES_H_
#define CGRAPH_COMPILER_GRAPH_REWRITE_PASSES_H_

#include <optional>
#include <vector>

#include "compiler/cost/costs.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/rewrite.h"

namespace cgraph::graph {

#define REWRITE(function, name, what)                                                 \
  void function(const Module& module, const RewriteOptions& options, Graph& graph, \
                std::vector<Rewritten>& done);
#include "compiler/graph/rewrite/rewrites.def"

// ---- messages between devices, as rewrites see them before there is a schedule

// What carries a use that is sent as a message, and nothing for one that is not.
std::optional<TransportKind> MessageOf(const Module& module, DeviceId from, DeviceId to,
                                       TransportKind via);
cost::LinkRates LinkOf(const Module& module, const cost::Costs& costs, DeviceId from, DeviceId to,
                       TransportKind message);

// An op that a rewrite adds, a call of its own right after one that is there. `op` has everything
// but its call; `call` stands for it. Its results name it only then.
struct Insertion {
  CallId after;
  Op op;
  Call call;
};
// Renumbers ops and calls. No rule speaks of what is new.
void Insert(Graph& graph, std::vector<Insertion> insertions);

}  // namespace cgraph::graph

#endif  // CGRAPH_COMPILER_GRAPH_REWRITE_PASSES_H_
