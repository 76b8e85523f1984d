#include "compiler/graph/fuse/fuse.h"

namespace cgraph {

using graph::Value;

bool MayOverwrite(const graph::Graph& graph, const std::vector<graph::Use>& operands, size_t at,
                  const Value& result) {
  const graph::ValueId id = operands[at].value;
  const Value& operand = graph.values[id];
  const bool same_state = operand.storage == Value::kState && result.storage == Value::kState &&
                          operand.state == result.state;
  if (operand.storage != Value::kTemporary && !same_state) return false;
  if (operand.base.valid() || operand.type != result.type) return false;
  for (size_t i = 0; i < operands.size(); ++i) {
    const graph::ValueId base = graph.values[operands[i].value].base;
    if (i != at && (base.valid() ? base : operands[i].value) == id) return false;
  }
  return true;
}

}  // namespace cgraph
