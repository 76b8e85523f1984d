// What a value is called in a schedule, a plan and all drawings: one name for it and for all its
// copies.
#ifndef CGRAPH_COMPILER_GRAPH_VALUE_NAMES_H_
#define CGRAPH_COMPILER_GRAPH_VALUE_NAMES_H_

#include <string>

#include "compiler/base/source.h"
#include "compiler/graph/graph.h"

namespace cgraph::graph {

// Its name in the source; of a part of a value that one's with the part, "x[1]", "x[2..4]"; of what
// the source does not name the op that makes it with its line, "argmax:24". `sources` may be null:
// then there are no lines.
std::string ValueName(const Graph& graph, const Value& value, const Sources* sources);

}  // namespace cgraph::graph

#endif  // CGRAPH_COMPILER_GRAPH_VALUE_NAMES_H_
