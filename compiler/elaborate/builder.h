// GraphBuilder: the graph that is being built; ops, values and calls are appended in program order.
//
// Values are made here and nowhere else, so everything that Validate checks is kept in one place:
// constants once per content, one current value per state, one symbol per extent value and bound.
// Everything that is added is charged to the budget.
#ifndef CGRAPH_COMPILER_ELABORATE_BUILDER_H_
#define CGRAPH_COMPILER_ELABORATE_BUILDER_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/elaborate/budget.h"
#include "compiler/graph/graph.h"

namespace cgraph::elaborate {

inline constexpr graph::DeviceId kCaller = graph::DeviceId(0);

class GraphBuilder {
 public:
  GraphBuilder(graph::Module& module, graph::Graph& graph, Budget& budget)
      : module_(module), graph_(graph), budget_(budget) {}

  graph::Graph& graph() { return graph_; }
  const graph::Value& value(graph::ValueId id) const { return graph_.values[id]; }
  const graph::Type& type(graph::ValueId id) const { return graph_.values[id].type; }

  graph::ValueId AddConstant(DType dtype, std::string bytes, std::string name);
  graph::ValueId AddInput(std::string name, graph::Type type, Range range);
  // Returns the part of `base` at `offset` bytes from where it begins. A second request gives the
  // same value, so that it travels once.
  graph::ValueId AddView(graph::ValueId base, int64_t offset, graph::Type type, Range range);
  // Returns what a state holds now: the value of the last commit in program order, or the value
  // before any.
  graph::ValueId CurrentState(graph::StateId state);
  // Returns element `slot` of a state of ints, as it is now.
  graph::ValueId StatePart(graph::StateId state, int64_t slot, Range range);
  // Makes a value, which an op has just made, what is written into element `slot` of a state.
  void WriteStatePart(graph::ValueId value, graph::StateId state, int64_t slot);

  // Makes a symbol for an input's bounded dimension; its extent comes with the input.
  graph::SymbolId AddInputSymbol(const std::string& name, int64_t bound, Range range);
  // Returns the symbol of an extent that an op computed; the same one for the same extent and
  // bound.
  graph::SymbolId SymbolOf(graph::ValueId extent, int64_t bound, const std::string& name);

  graph::CallId AddCall(graph::Call call);
  // Appends `op` (call, device, operands already set) and makes a value for each result type.
  graph::OpId AddOp(graph::Op op, std::vector<graph::Type> results);
  // As AddOp(), for an op with `collective` set; the results' types are ordered by rank.
  graph::OpId AddCollective(graph::Op op, std::vector<graph::Type> results);
  // Makes a copy of `source` that lives on the device of `call`.
  graph::ValueId AddCopy(graph::CallId call, graph::Use source, Range range);
  // Names a value by the state that it is to be written to.
  void NameAsState(graph::ValueId value, graph::StateId state);
  // Writes `source` into a state, as the last thing that `call` does.
  void Commit(graph::CallId call, graph::StateId state, graph::Use source, Range range);

 private:
  graph::ValueId AddValue(graph::Value value);
  graph::OpId AddCopyOp(graph::CallId call, graph::Use source, Range range);

  graph::Module& module_;
  graph::Graph& graph_;
  Budget& budget_;
  std::map<std::pair<DType, std::string>, graph::ValueId> constants_;
  std::map<graph::StateId, graph::ValueId> states_;
  // Elements of states that were written since all of the state was.
  std::map<graph::StateId, std::map<int64_t, graph::ValueId>> parts_;
  std::map<std::pair<graph::ValueId, int64_t>, std::vector<graph::ValueId>> views_;
  std::map<std::pair<graph::ValueId, int64_t>, graph::SymbolId> symbols_;
};

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_BUILDER_H_
