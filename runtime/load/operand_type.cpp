#include "runtime/load/operand_type.h"

namespace cgraph::engine {

device::OperandType OperandTypeOf(const plan::Graph& graph, uint32_t value) {
  const plan::Value& v = graph.values[value];
  device::OperandType type;
  type.dtype = v.dtype();
  type.rank = v.rank();
  for (int i = 0; i < type.rank; ++i) {
    type.dims[i] = graph.dims[v.first_dim() + i].extent();
    type.dynamic[i] = graph.dims[v.first_dim() + i].symbol() != plan::kNone;
  }
  const plan::Buffer& buffer = graph.buffers[v.buffer()];
  type.in_state = graph.arenas[buffer.arena()].space() == plan::Space::state;
  return type;
}

}  // namespace cgraph::engine
