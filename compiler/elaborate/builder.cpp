#include "compiler/elaborate/builder.h"

#include "compiler/base/kernels.h"

namespace cgraph::elaborate {

using graph::ValueId;

namespace {

// The steps for a value or an op: either takes about as much memory as this many elements of a
// list. An op with one result is charged where it is called.
constexpr int64_t kStepsPerValue = 16;

size_t NameBytes(const graph::Op& op) {
  size_t bytes = op.name.size() + op.kernel.size();
  for (const graph::Attribute& attribute : op.attributes) {
    bytes += attribute.name.size();
    if (auto* text = std::get_if<std::string>(&attribute.value)) bytes += text->size();
    if (auto* ints = std::get_if<std::vector<int64_t>>(&attribute.value)) {
      bytes += ints->size() * sizeof(int64_t);
    }
  }
  return bytes;
}

}  // namespace

ValueId GraphBuilder::AddValue(graph::Value value) {
  budget_.Charge(kStepsPerValue + StepsOfBytes(value.name.size() + value.constant.size()));
  return graph_.values.Add(std::move(value));
}

graph::CallId GraphBuilder::AddCall(graph::Call call) {
  size_t bytes = call.method.size();
  for (const std::string& name : call.index_names) bytes += name.size();
  budget_.Charge(call.indices.size() + call.after.size() + StepsOfBytes(bytes));
  return graph_.calls.Add(std::move(call));
}

ValueId GraphBuilder::AddConstant(DType dtype, std::string bytes, std::string name) {
  auto [known, is_new] = constants_.try_emplace({dtype, bytes});
  if (!is_new) return known->second;
  graph::Value value;
  value.name = std::move(name);
  value.type = {dtype, {}};
  value.storage = graph::Value::kConstant;
  value.constant = std::move(bytes);
  return known->second = AddValue(std::move(value));
}

ValueId GraphBuilder::AddInput(std::string name, graph::Type type, Range range) {
  graph::Value value;
  value.name = std::move(name);
  value.type = std::move(type);
  value.storage = graph::Value::kInput;
  value.home = kCaller;
  value.range = range;
  return AddValue(std::move(value));
}

ValueId GraphBuilder::AddView(ValueId base_id, int64_t offset, graph::Type type, Range range) {
  const graph::Value& base = graph_.values[base_id];
  graph::Value value;
  value.type = std::move(type);
  value.storage = base.storage;
  value.home = base.home;
  value.producer = base.producer;
  value.state = base.state;
  value.base = base.base.valid() ? base.base : base_id;
  value.offset = base.offset + offset;
  value.range = range;
  std::vector<ValueId>& known = views_[{value.base, value.offset}];
  for (ValueId view : known) {
    if (graph_.values[view].type == value.type) return view;
  }
  known.push_back(AddValue(std::move(value)));
  return known.back();
}

ValueId GraphBuilder::CurrentState(graph::StateId state_id) {
  auto [known, is_new] = states_.try_emplace(state_id);
  if (!is_new) return known->second;
  const graph::State& state = module_.states[state_id];
  const graph::Instance& instance = module_.instances[state.instance];
  graph::Value value;
  value.name = instance.name + "." + state.name;
  value.type = state.type;
  value.storage = graph::Value::kState;
  value.home = instance.device;
  value.state = state_id;
  return known->second = AddValue(std::move(value));
}

graph::SymbolId GraphBuilder::AddInputSymbol(const std::string& name, int64_t bound, Range range) {
  ValueId extent = AddInput(name, {DType::kI64, {}}, range);
  return SymbolOf(extent, bound, name);
}

graph::SymbolId GraphBuilder::SymbolOf(ValueId extent, int64_t bound, const std::string& name) {
  auto [known, is_new] = symbols_.try_emplace({extent, bound});
  if (is_new) known->second = graph_.symbols.Add({name, bound, extent});
  return known->second;
}

graph::OpId GraphBuilder::AddOp(graph::Op op, std::vector<graph::Type> results) {
  graph::OpId id(graph_.ops.size());
  budget_.Charge(StepsOfBytes(NameBytes(op)));
  if (results.size() > 1) budget_.Charge(kStepsPerValue * (results.size() - 1));
  for (graph::Type& type : results) {
    graph::Value value;
    value.type = std::move(type);
    value.home = op.device;
    value.producer = id;
    value.range = op.range;
    op.results.push_back(graph_.values.Add(std::move(value)));
  }
  return graph_.ops.Add(std::move(op));
}

graph::OpId GraphBuilder::AddCollective(graph::Op op, std::vector<graph::Type> results) {
  const std::vector<graph::DeviceId> participants = op.collective->participants;
  const bool at_root = TraitsOf(op.collective->kind).to == CollectiveTraits::kRoot;
  graph::OpId id = AddOp(std::move(op), std::move(results));
  const std::vector<ValueId>& made = graph_.ops[id].results;
  for (size_t i = 0; !at_root && i < made.size(); ++i) {
    graph_.values[made[i]].home = participants[i / (made.size() / participants.size())];
  }
  return id;
}

graph::OpId GraphBuilder::AddCopyOp(graph::CallId call, graph::Use source, Range range) {
  budget_.Charge(kStepsPerValue + StepsOfBytes(graph_.values[source.value].name.size()));
  graph::Op op;
  op.name = op.kernel = kCopyKernel;
  op.elementwise = true;
  op.call = call;
  op.device = graph_.calls[call].device;
  op.operands = {source};
  op.range = range;
  graph::Type type = graph_.values[source.value].type;
  op.bytes = 2 * type.bytes();
  return AddOp(std::move(op), {std::move(type)});
}

ValueId GraphBuilder::AddCopy(graph::CallId call, graph::Use source, Range range) {
  ValueId copy = graph_.ops[AddCopyOp(call, source, range)].results[0];
  graph_.values[copy].name = graph_.values[source.value].name;
  return copy;
}

ValueId GraphBuilder::StatePart(graph::StateId state, int64_t slot, Range range) {
  const std::map<int64_t, ValueId>& parts = parts_[state];
  if (const auto part = parts.find(slot); part != parts.end()) return part->second;
  const graph::Type type{DType::kI64, {{1, {}}}};
  return AddView(CurrentState(state), slot * type.bytes(), type, range);
}

void GraphBuilder::WriteStatePart(ValueId id, graph::StateId state, int64_t slot) {
  NameAsState(id, state);
  graph::Value& value = graph_.values[id];
  value.storage = graph::Value::kState;
  value.state = state;
  value.offset = slot * value.type.bytes();
  parts_[state][slot] = id;
  if (&graph_ != &module_.start) module_.states[state].written = true;
}

void GraphBuilder::NameAsState(ValueId value, graph::StateId state) {
  graph_.values[value].name = std::string(graph_.values[CurrentState(state)].name);
}

void GraphBuilder::Commit(graph::CallId call, graph::StateId state, graph::Use source,
                          Range range) {
  std::string name = graph_.values[CurrentState(state)].name;
  ValueId written = graph_.ops[AddCopyOp(call, source, range)].results[0];
  graph_.values[written].name = std::move(name);
  graph_.values[written].storage = graph::Value::kState;
  graph_.values[written].state = state;
  states_[state] = written;
  parts_.erase(state);
  if (&graph_ != &module_.start) module_.states[state].written = true;
}

}  // namespace cgraph::elaborate
