// Rewrite: replaces operations by fewer or cheaper ones with the same results.
//
// Each rewrite is a pass of its own with a name, can be turned off by it, and reports what it did.
// `attention` rounds otherwise than what it replaces. The others are about operations between
// devices. Their results are the same to the last bit wherever collectives reduce in the order of
// the ranks, as ours do; a library that does not (NCCL) gives another rounding for either form.
#ifndef CGRAPH_COMPILER_GRAPH_REWRITE_H_
#define CGRAPH_COMPILER_GRAPH_REWRITE_H_

#include <span>
#include <string>
#include <vector>

#include "compiler/base/source.h"
#include "compiler/cost/profile.h"
#include "compiler/cost/topology.h"
#include "compiler/graph/graph.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"

namespace cgraph {

// RewriteOptions: the facts by which passes compare costs.
struct RewriteOptions {
  std::vector<std::string> off;  // names; "all" turns all off
  const cost::Topology* topology = nullptr;  // null: the assumed one
  const Profile* profile = nullptr;          // times of calls; null: estimates
  // True where everything that a device exchanges with others goes through one lane, one after
  // another.
  bool one_lane = true;
  // True where a device's memory has a limit, by a flag or a rule: then no rewrite needs more of it
  // at once.
  bool memory_is_limited = false;
};

// Rewritten: one application of a rewrite, and what became one.
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

// A line for each: its name, its graph, what it is, and the places of the program it is about.
void PrintRewrites(llvm::ArrayRef<Rewritten> rewritten, const Sources& sources,
                   llvm::raw_ostream& out);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_GRAPH_REWRITE_H_
