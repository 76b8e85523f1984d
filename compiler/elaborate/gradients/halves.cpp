#include "compiler/elaborate/gradients/halves.h"

#include "compiler/base/derived_calls.h"
#include "compiler/elaborate/calls/method_scope.h"
#include "llvm/ADT/STLExtras.h"

namespace cgraph::elaborate {

using graph::OpId;
using graph::ValueId;

bool IsHalved(const program::Program& program, const program::Using& use) {
  if (!use.schedule.valid()) return true;
  const auto names_half = [](const program::Using::Method& method) {
    const std::optional<DerivedFrom> of = ParseDerivedName(method.name);
    return of && of->half != Half::kWhole;
  };
  return program.has_gradients &&
         llvm::any_of(use.methods, [&](const std::vector<program::Using::Method>& methods) {
           return llvm::any_of(methods, names_half);
         });
}

void TailMark::SetRanges(graph::Graph& graph, Range range) const {
  for (size_t i = ops_; i < graph.ops.size(); ++i) {
    graph::Op& op = graph.ops[OpId(i)];
    op.range = range;
    for (graph::Use& use : op.operands) use.range = range;
  }
  for (size_t i = values_; i < graph.values.size(); ++i) graph.values[ValueId(i)].range = range;
}

namespace {

// Returns by op of the tail whether the gradients of activations need it.
std::vector<bool> NeededFirst(const graph::Graph& graph, size_t first,
                              const std::set<ValueId>& activations) {
  std::set<ValueId> needed = activations;
  std::vector<bool> is_first(graph.ops.size() - first);
  for (size_t i = graph.ops.size(); i-- > first;) {
    const graph::Op& op = graph.ops[OpId(i)];
    const bool makes =
        llvm::any_of(op.results, [&](ValueId result) { return needed.count(result) != 0; });
    if (!makes) continue;
    is_first[i - first] = true;
    for (const graph::Use& use : op.operands) needed.insert(graph::RootOf(graph, use.value));
  }
  return is_first;
}

// Puts the ops of the first half before the others, which become another call's.
void Divide(graph::Graph& graph, const TailMark& before, const std::vector<bool>& is_first,
            graph::CallId second) {
  std::vector<graph::Op> ops[2];
  std::vector<OpId> moved(is_first.size());
  const size_t count = llvm::count(is_first, true);
  for (size_t i = 0; i < is_first.size(); ++i) {
    std::vector<graph::Op>& half = ops[is_first[i] ? 0 : 1];
    moved[i] = OpId(before.ops() + half.size() + (is_first[i] ? 0 : count));
    half.push_back(std::move(graph.ops[OpId(before.ops() + i)]));
  }
  size_t next = before.ops();
  for (graph::Op& op : ops[0]) graph.ops[OpId(next++)] = std::move(op);
  for (graph::Op& op : ops[1]) {
    op.call = second;
    graph.ops[OpId(next++)] = std::move(op);
  }
  for (size_t i = before.values(); i < graph.values.size(); ++i) {
    OpId& producer = graph.values[ValueId(i)].producer;
    if (producer.valid() && producer.index >= before.ops()) {
      producer = moved[producer.index - before.ops()];
    }
  }
}

}  // namespace

void Halve(ElaborationContext& elaboration, MethodScope& scope, const TailMark& before,
           const std::set<ValueId>& activations, const std::vector<Tensor>& incoming) {
  graph::Graph& graph = elaboration.builder->graph();
  std::vector<bool> is_first = NeededFirst(graph, before.ops(), activations);
  const auto has_first = [&] { return llvm::is_contained(is_first, true); };
  if (!has_first()) {  // what came in from several devices is added first
    std::set<ValueId> came;
    for (const Tensor& tensor : incoming) came.insert(graph::RootOf(graph, tensor.value));
    is_first = NeededFirst(graph, before.ops(), came);
  }
  if (!has_first() && !incoming.empty()) {
    const Tensor& came = incoming.front();
    const ValueId copy = elaboration.builder->AddCopy(
        scope.call_id, {came.value, came.via, scope.call.site}, scope.call.site);
    for (size_t i = before.ops(); i + 1 < graph.ops.size(); ++i) {
      for (graph::Use& use : graph.ops[OpId(i)].operands) {
        if (use.value == came.value) use.value = copy;
      }
    }
    is_first.push_back(true);
  }
  const auto name_half = [](graph::Call& call, Half half) {
    call.method += SuffixOf(half);
    call.half = half;
  };
  name_half(graph.calls[scope.call_id], Half::kInput);
  if (llvm::all_of(is_first, [](bool first) { return first; })) return;
  graph::Call second = scope.call;
  name_half(second, Half::kWeight);
  Divide(graph, before, is_first, elaboration.builder->AddCall(std::move(second)));
}

}  // namespace cgraph::elaborate
