// Which of an op's operands its result may take the memory of.
#ifndef CGRAPH_COMPILER_GRAPH_FUSE_OVERWRITE_H_
#define CGRAPH_COMPILER_GRAPH_FUSE_OVERWRITE_H_

#include <vector>

#include "compiler/graph/graph.h"

namespace cgraph {

// Whether `result` may lie where operand `at` lies: in a value that this graph made, or, of a
// result that is a state's new value, in that state; of the result's type; of which, or of a part
// of which, the op reads nothing else.
bool MayOverwrite(const graph::Graph& graph, const std::vector<graph::Use>& operands, size_t at,
                  const graph::Value& result);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_GRAPH_FUSE_OVERWRITE_H_
