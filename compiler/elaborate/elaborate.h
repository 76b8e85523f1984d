// Elaborate: Program -> Graph.
//
// Runs everything that is known at compile time: constants, places, loops, conditions, lists,
// inlined fns and graphs; unifies dimensions with concrete integers; homes every op; writes state
// back after the last op of a call that may fail. What it may take is bounded by the limits of
// compiler/base/limits.h.
#ifndef CGRAPH_COMPILER_ELABORATE_ELABORATE_H_
#define CGRAPH_COMPILER_ELABORATE_ELABORATE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/base/diagnostics/diagnostics.h"
#include "compiler/base/limits.h"
#include "compiler/graph/graph.h"
#include "compiler/program/program.h"

namespace cgraph {

namespace cost {
struct Topology;
}

// Limits of one elaboration; lower in tests that try many generated programs.
struct ElaborationLimits {
  int64_t steps = kMaxElaborationSteps;
  int64_t list_elements = kMaxListElements;
};

struct ElaborateOptions {
  std::map<std::string, std::string> defines;  // -D NAME=VALUE
  std::vector<std::string> graphs;             // --graph; empty: all of the named file
  int64_t inflight = 0;                        // --inflight; 0: what the graph says
  ElaborationLimits limits;
};

// Returns the topology that the program was checked with, or the assumed one. Nothing where an
// error was reported.
std::optional<cost::Topology> ElaborateTopology(const program::Program& program,
                                                const ElaborateOptions& options,
                                                Diagnostics& diagnostics);

// Returns the graphs, to be used only when `diagnostics` has no errors afterwards.
graph::Module Elaborate(const program::Program& program, const ElaborateOptions& options,
                        Diagnostics& diagnostics);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_ELABORATE_ELABORATE_H_
