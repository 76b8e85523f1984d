// ViewReshapes, per graph: an op that only names other dimensions is removed, and its result
// becomes a view of its operand, or of what that is a view of.
#include "compiler/graph/fuse/fuse.h"

#include <algorithm>
#include <variant>
#include <vector>

#include "compiler/graph/renumber.h"

namespace cgraph {
namespace {

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

// Returns whether an op makes the same elements in the same order: a permutation does where only
// dimensions of 1 change their places. A program may declare ops of any shape with these kernels.
bool Reshapes(const Graph& graph, const Op& op) {
  if (op.operands.size() != 1 || op.results.size() != 1 || op.effect || op.fails) return false;
  if (op.kernel == "reshape") return true;
  if (op.kernel != "permute" || op.attributes.size() != 1) return false;
  const std::vector<graph::Dim>& dims = graph.values[op.operands[0].value].type.dims;
  const auto* order = std::get_if<std::vector<int64_t>>(&op.attributes[0].value);
  if (order == nullptr || order->size() != dims.size()) return false;
  int64_t last = -1;
  for (const int64_t at : *order) {
    if (at < 0 || static_cast<size_t>(at) >= dims.size()) return false;
    const graph::Dim& dim = dims[static_cast<size_t>(at)];
    if (dim.extent == 1 && !dim.symbol.valid()) continue;
    if (at < last) return false;
    last = at;
  }
  return true;
}

class ReshapeViewer {
 public:
  explicit ReshapeViewer(Graph& graph)
      : graph_(graph),
        leaves_(graph.values.size(), false),
        becomes_state_(graph.values.size(), false) {}

  void Run() {
    FindReaders();
    std::vector<bool> kept(graph_.ops.size(), true);
    bool any = false;
    for (OpId id : graph_.ops.Ids()) {
      const Op& op = graph_.ops[id];
      if (!Reshapes(graph_, op)) continue;
      TakeRootOfBase(op.operands[0].value);
      if (!MayBeView(op)) continue;
      MakeView(op);
      kept[id.index] = false;
      any = true;
    }
    if (!any) return;
    for (ValueId id : graph_.values.Ids()) TakeRootOfBase(id);
    Renumber(graph_, {.ops = graph::IdsOfKept<OpId>(kept)});
  }

 private:
  // Finds the values that others than ops of the call that makes them read, themselves or a view,
  // and those that an op reads which writes a state.
  void FindReaders() {
    const auto leaves = [&](ValueId id) { leaves_[RootOf(graph_, id).index] = true; };
    for (const Op& op : graph_.ops) {
      for (const Use& operand : op.operands) {
        if (MakerOf(graph_, operand.value) != op.call) leaves(operand.value);
        if (Commits(op)) becomes_state_[RootOf(graph_, operand.value).index] = true;
      }
    }
    for (const graph::Port& port : graph_.outputs) leaves(port.use.value);
    for (const graph::Symbol& symbol : graph_.symbols) leaves(symbol.extent);
    for (const graph::Bucket& bucket : graph_.buckets) {
      for (ValueId value : bucket.values) leaves(value);
    }
  }

  bool Commits(const Op& op) const {
    return std::any_of(op.results.begin(), op.results.end(), [this](ValueId result) {
      return graph_.values[result].storage == Value::kState;
    });
  }

  // What becomes a state is no view of a state, which its call may have written by then.
  bool MayBeView(const Op& op) const {
    const Value& from = graph_.values[op.operands[0].value];
    const Value& to = graph_.values[op.results[0]];
    return to.storage == Value::kTemporary && !leaves_[op.results[0].index] &&
           from.storage != Value::kConstant && from.home == op.device &&
           !(from.storage == Value::kState && becomes_state_[op.results[0].index]) &&
           from.type.dtype == to.type.dtype && from.type.bytes() == to.type.bytes() &&
           SymbolsOf(from.type) == SymbolsOf(to.type);
  }

  void MakeView(const Op& op) {
    const ValueId from_id = op.operands[0].value;
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
  std::vector<bool> leaves_;         // by value: others than ops of its call read it
  std::vector<bool> becomes_state_;  // by value: an op reads it that writes a state
};

}  // namespace

void ViewReshapes(graph::Module& module) {
  ReshapeViewer(module.start).Run();
  for (Graph& graph : module.graphs) ReshapeViewer(graph).Run();
}

}  // namespace cgraph
