// Rewrite: says with fewer or cheaper operations between devices what the program says.
//
// Each rewrite is a pass of its own with a name, can be turned off by it, and reports what it did.
// Results are the same to the last bit wherever collectives reduce in the order of the ranks, as
// ours do; a library that does not (NCCL) gives another rounding for either form.
#ifndef CGRAPH_COMPILER_GRAPH_REWRITE_H_
#define CGRAPH_COMPILER_GRAPH_REWRITE_H_

#include <span>
#include <string>
#include <vector>

#include "compiler/cost/profile.h"
#include "compiler/cost/topology.h"
#include "compiler/graph/graph.h"

namespace cgraph {

// What the passes that weigh costs go by.
struct RewriteOptions {
  std::vector<std::string> off;  // names; "all" turns all off
  const cost::Topology* topology = nullptr;  // null: the assumed one
  const Profile* profile = nullptr;          // times of calls; null: estimates
  // What a device exchanges with others goes through one lane, so one after another.
  bool one_lane = true;
  // A device's memory has a limit, by a flag or a rule: nothing is done that needs more of it at
  // once.
  bool memory_is_limited = false;
};

// Where one was applied: what became one.
struct Rewritten {
  const char* rewrite = "";  // its name
  std::string graph;
  std::vector<Range> places;
  std::string way;  // of what travels: "gpu[0] to gpu[1]", or empty
};

// One row of rewrites.def.
struct RewriteInfo {
  const char* name;
  const char* what;
  void (*run)(const graph::Module& module, const RewriteOptions& options, graph::Graph& graph,
              std::vector<Rewritten>& done);
};
std::span<const RewriteInfo> Rewrites();

std::vector<Rewritten> Rewrite(graph::Module& module, const RewriteOptions& options);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_GRAPH_REWRITE_H_
