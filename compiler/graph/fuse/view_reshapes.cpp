#include "compiler/graph/fuse/fuse.h"

#include <algorithm>
#include <vector>

#include "compiler/graph/renumber.h"

namespace cgraph {
namespace {

using graph::CallId;
using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::SymbolId;
using graph::Type;
using graph::Use;
using graph::Value;
using graph::ValueId;

// Returns the symbols of a type's dimensions, in the order of their ids.
std::vector<SymbolId> SymbolsOf(const Type& type) {
  std::vector<SymbolId> symbols;
  for (const graph::Dim& dim : type.dims) {
    if (dim.symbol.valid()) symbols.push_back(dim.symbol);
  }
  std::sort(symbols.begin(), symbols.end());
  return symbols;
}

class ReshapeViewer {
 public:
  explicit ReshapeViewer(Graph& graph) : graph_(graph), leaves_(graph.values.size(), false) {}

  void Run() {
    FindLeaving();
    std::vector<bool> kept(graph_.ops.size(), true);
    bool any = false;
    for (OpId id : graph_.ops.Ids()) {
      if (!MayBeView(graph_.ops[id])) continue;
      MakeView(graph_.ops[id]);
      kept[id.index] = false;
      any = true;
    }
    if (!any) return;
    for (ValueId id : graph_.values.Ids()) TakeRootOfBase(id);
    Renumber(graph_, {.ops = graph::IdsOfKept<OpId>(kept)});
  }

 private:
  // Finds the values that others than ops of the call that makes them read, themselves or a view.
  void FindLeaving() {
    const auto leaves = [&](ValueId id) { leaves_[RootOf(graph_, id).index] = true; };
    for (const Op& op : graph_.ops) {
      for (const Use& operand : op.operands) {
        if (MakerOf(graph_, operand.value) != op.call) leaves(operand.value);
      }
    }
    for (const graph::Port& port : graph_.outputs) leaves(port.use.value);
    for (const graph::Symbol& symbol : graph_.symbols) leaves(symbol.extent);
    for (const graph::Bucket& bucket : graph_.buckets) {
      for (ValueId value : bucket.values) leaves(value);
    }
  }

  bool MayBeView(const Op& op) const {
    if (op.kernel != "reshape" || op.operands.size() != 1 || op.results.size() != 1) return false;
    const Value& from = graph_.values[op.operands[0].value];
    const Value& to = graph_.values[op.results[0]];
    return to.storage == Value::kTemporary && !leaves_[op.results[0].index] &&
           from.storage != Value::kConstant && from.home == op.device &&
           from.type.dtype == to.type.dtype && from.type.bytes() == to.type.bytes() &&
           SymbolsOf(from.type) == SymbolsOf(to.type);
  }

  void MakeView(const Op& op) {
    const ValueId from_id = op.operands[0].value;
    TakeRootOfBase(from_id);
    const Value& from = graph_.values[from_id];
    Value& view = graph_.values[op.results[0]];
    view.base = RootOf(graph_, from_id);
    view.offset = from.base.valid() ? from.offset : 0;
    LieWhereBaseDoes(view);
  }

  // Lets a view of what has become a view be one of that one's base.
  void TakeRootOfBase(ValueId id) {
    Value& value = graph_.values[id];
    if (!value.base.valid()) return;
    const Value& base = graph_.values[value.base];
    if (!base.base.valid()) return;
    value.offset += base.offset;
    value.base = base.base;
    LieWhereBaseDoes(value);
  }
  void LieWhereBaseDoes(Value& view) const {
    const Value& base = graph_.values[view.base];
    view.storage = base.storage;
    view.state = base.state;
    view.producer = base.producer;
  }

  Graph& graph_;
  std::vector<bool> leaves_;  // by value
};

}  // namespace

void ViewReshapes(graph::Module& module) {
  ReshapeViewer(module.start).Run();
  for (Graph& graph : module.graphs) ReshapeViewer(graph).Run();
}

}  // namespace cgraph
