// A topology's parts, written out: devices, then resources, then links, each with its properties in
// integers. Its size is bounded before anything is made.
#ifndef CGRAPH_COMPILER_ELABORATE_TOPOLOGIES_TOPOLOGIES_H_
#define CGRAPH_COMPILER_ELABORATE_TOPOLOGIES_TOPOLOGIES_H_

#include <optional>
#include <vector>

#include "compiler/cost/topology.h"
#include "compiler/elaborate/elaborate.h"
#include "compiler/program/program.h"

namespace cgraph::elaborate {

struct ElaborationContext;

// Nothing where something was reported.
std::optional<cost::Topology> MakeTopology(ElaborationContext& elaboration,
                                           const program::Topology& topology,
                                           const std::vector<program::Argument>& arguments,
                                           const Table<program::LocalId, program::Local>* locals,
                                           Range site);

// Tries those of the named file that need no arguments, for what is wrong with them.
void CheckTopologies(const program::Program& program, const ElaborateOptions& options,
                     Diagnostics& diagnostics);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_TOPOLOGIES_TOPOLOGIES_H_
