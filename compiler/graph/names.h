// What parts of a graph are called: in messages, in dumps and drawings, in profiles and costs.
#ifndef CGRAPH_COMPILER_GRAPH_NAMES_H_
#define CGRAPH_COMPILER_GRAPH_NAMES_H_

#include <string>

#include "compiler/base/source.h"
#include "compiler/cost/call_times.h"
#include "compiler/cost/machine.h"
#include "compiler/graph/graph.h"

namespace cgraph {

std::string TypeText(const graph::Graph& graph, const graph::Type& type);  // "f32[n <= 64, 10]"
std::string CallName(const graph::Module& module, const graph::Call& call);  // "s[0].step (m = 3)"
// The same in backquotes, as diagnostics name it.
std::string CallText(const graph::Module& module, const graph::Call& call);

}  // namespace cgraph

namespace cgraph::graph {

// What a value is called in a schedule, a plan and all drawings: one name for it and for all its
// copies. Its name in the source; of a part of a value that one's with the part, "x[1]", "x[2..4]";
// of what the source does not name the op that makes it with its line, "argmax:24". `sources` may
// be null: then there are no lines.
std::string ValueName(const Graph& graph, const Value& value, const Sources* sources);

// A call under the name by which a profile knows it.
cost::CallName NameOf(const Module& module, const Call& call);

}  // namespace cgraph::graph

#endif  // CGRAPH_COMPILER_GRAPH_NAMES_H_
