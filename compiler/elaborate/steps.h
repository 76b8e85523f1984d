// The steps of Elaborate, besides places (places/) and bodies (calls/).
#ifndef CGRAPH_COMPILER_ELABORATE_STEPS_H_
#define CGRAPH_COMPILER_ELABORATE_STEPS_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/cost/topology.h"
#include "compiler/elaborate/elaborate.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/frame.h"
#include "compiler/elaborate/values/value.h"
#include "compiler/graph/graph.h"
#include "compiler/program/program.h"

namespace cgraph::elaborate {

// ---- consts: evaluated when first used, with the values that -D gave to those of the named file

// All of them, so that a fault is reported though nothing uses the const.
void EvaluateConsts(ElaborationContext& elaboration);

Value ConstValue(ElaborationContext& elaboration, program::ConstId id);

// ---- a graph's inputs and outputs: the leaves of its parameters and of its result

// `n <= B` in an input makes a symbol, wherever else `n` stands.
void BindInputSymbols(ElaborationContext& elaboration, program::TypeId type_id, Frame& frame);

// The value of a parameter of this type; its leaves are inputs.
Value AddInput(ElaborationContext& elaboration, program::TypeId type_id, const std::string& name,
               Frame& frame, Range range);

// `name` is empty for the result as a whole: its fields are ports by their own names.
void AddOutputs(ElaborationContext& elaboration, const Value& value, const std::string& name,
                Range range);

// ---- graphs

// The end of the name of what stands before the rounds of a graph: "generate.before".
inline constexpr char kBefore[] = ".before";

// Appends the graph to the module; one that repeats as two: what stands before its rounds, and one
// round.
void ElaborateGraph(ElaborationContext& elaboration, program::GraphId id);

// ---- rules: what a graph's `using` says about the calls that the graph makes

// `graph` has all its calls, and no others; those that Prune took from it are `removed`.
graph::Rules ElaborateRules(ElaborationContext& elaboration, const program::Using& use,
                            const graph::Graph& graph, const std::vector<graph::Call>& removed);

// Warns of rules about methods that no graph calls: after all graphs.
void CheckSchedules(ElaborationContext& elaboration);

// Methods that no graph calls: elaborated for their mistakes alone.
//
// A call would say what a method's free dimensions are. Without one they are unknown, so only what
// is wrong whatever they are is reported: static dimensions that differ, indices out of range. What
// an actor's parameters make wrong is reported only when it is wrong at each of its places.
void CheckUncalledMethods(const program::Program& program, const ElaborateOptions& options,
                          const std::set<program::MethodId>& called, Diagnostics& diagnostics);

// ---- topologies

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

#endif  // CGRAPH_COMPILER_ELABORATE_STEPS_H_
