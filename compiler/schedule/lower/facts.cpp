#include "compiler/schedule/lower/facts.h"

#include "compiler/graph/transports.h"

namespace cgraph::schedule {

using graph::OpId;
using graph::Value;
using graph::ValueId;

Facts::Facts(const graph::Module& module, const graph::Graph& graph)
    : module_(module),
      graph_(graph),
      last_op_(graph.calls.size()),
      direct_(graph.values.size()),
      ports_(graph.values.size()) {
  for (OpId id : graph_.ops.Ids()) last_op_[graph_.ops[id].call.index] = id.index;
  for (const graph::Port& port : graph_.inputs) ports_[port.use.value.index] = true;
  FindDirectOutputs();
}

uint32_t Facts::MadeAt(ValueId id) const {
  const OpId producer = graph_.values[RootOf(graph_, id)].producer;
  return producer.valid() ? PlaceOf(producer) : 0;
}

// Finds values that may be written straight into an output: made where the caller's memory can be
// reached, and read by nobody outside their call, since the caller owns that memory as soon as it
// is given.
void Facts::FindDirectOutputs() {
  std::vector<bool> read_elsewhere(graph_.values.size());
  for (const graph::Symbol& symbol : graph_.symbols) {
    read_elsewhere[RootOf(graph_, symbol.extent).index] = true;
  }
  for (const graph::Op& op : graph_.ops) {
    for (const graph::Use& use : op.operands) {
      const ValueId root = RootOf(graph_, use.value);
      if (MakerOf(graph_, root) != op.call) read_elsewhere[root.index] = true;
    }
  }
  for (const graph::Port& port : graph_.outputs) {
    const ValueId id = port.use.value;
    const Value& value = graph_.values[id];
    if (value.base.valid() || value.storage != Value::kTemporary) continue;
    if (graph_.ops[value.producer].collective) continue;  // these write slots only
    const TransportChoice choice =
        ChooseTransport(module_, value.home, kCaller, port.use.via.transport);
    const bool local = choice.possible && choice.transport == TransportKind::kLocal;
    if (local && !read_elsewhere[id.index]) direct_[id.index] = true;
  }
}

Space Facts::HomeSpace(ValueId id) const {
  switch (graph_.values[id].storage) {
    case Value::kTemporary: return IsDirect(id) ? Space::kOutput : Space::kSlot;
    case Value::kState: return Space::kState;
    case Value::kInput: return IsPort(id) ? Space::kInput : Space::kSlot;
    case Value::kConstant: return Space::kConstant;
  }
  return Space::kSlot;
}

}  // namespace cgraph::schedule
