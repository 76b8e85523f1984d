#include <algorithm>

#include <fmt/format.h>

#include "compiler/base/derived_calls.h"
#include "compiler/base/kernels.h"
#include "compiler/elaborate/budget.h"
#include "compiler/elaborate/calls/calls.h"
#include "compiler/elaborate/calls/method_scope.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/ops/ops.h"
#include "compiler/elaborate/places/places.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/statements/statements.h"
#include "compiler/elaborate/values/make.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SaveAndRestore.h"
#include "runtime/base/kinds/native.h"

namespace cgraph::elaborate {
namespace {

namespace attributes = extern_attributes;

// The steps for a call, in expressions, by its memory and time.
constexpr int64_t kStepsPerExtern = 16;

// The number of a call that PyTorch differentiates: see kAutogradMark.
const graph::Type kMarkType{DType::kI64, {}};

const graph::Type kObjectNumber{DType::kI64, {{1, {}}}};

// Returns whether the value is a tree of tensors and nothing else.
bool IsTensors(const Value& value) {
  if (const List* list = value.As<List>()) return llvm::all_of(*list->items, IsTensors);
  if (const Tuple* tuple = value.As<Tuple>()) return llvm::all_of(tuple->items->values, IsTensors);
  return value.As<Tensor>() != nullptr;
}

// Adds what is known while compiling as attributes by their names; tensors go to `operands`. Native
// code takes numbers, texts, and lists of ints. `names` gets a name for each attribute and operand.
bool AddArgument(ElaborationContext& elaboration, const std::string& name, const Value& value,
                 Range range, graph::Op& out, std::vector<std::string>& names) {
  if (std::optional<graph::Attribute> attribute = AttributeOf(name, value)) {
    names.push_back(name);
    out.attributes.push_back(std::move(*attribute));
    return true;
  }
  const List* list = value.As<List>();
  const bool is_empty = list && list->items->empty();  // would be no attribute and no operand
  if (is_empty || !IsTensors(value)) {
    Report(elaboration, Code::kE0406, range,
           fmt::format("native code takes tensors, numbers, texts and lists of ints; `{}` is {}",
                       name, is_empty ? "an empty list" : Describe(elaboration, value)));
    return false;
  }
  MapLeaves(elaboration, range, value, [&, at = 0](const Value& leaf) mutable {
    const Tensor& tensor = *leaf.As<Tensor>();
    names.push_back(list || value.As<Tuple>() ? fmt::format("{}[{}]", name, at++) : name);
    out.operands.push_back({tensor.value, tensor.via, tensor.use.valid() ? tensor.use : range});
    return leaf;
  });
  return true;
}

// Returns the tensors of some states of the frame's instance, in order.
std::vector<graph::StateId> LeavesOf(ElaborationContext& elaboration,
                                     const std::vector<program::StateId>& states,
                                     const Frame& frame, Range range) {
  std::vector<graph::StateId> leaves;
  for (program::StateId state : states) {
    MapLeaves(elaboration, range, LayoutOf(elaboration, state, frame), [&](const Value& leaf) {
      leaves.push_back(leaf.As<StateLeaf>()->state);
      return leaf;
    });
  }
  return leaves;
}

// ObjectPart: which of an object's numbers a call touches. All of them say which object it is; what
// two calls touch of them says whether one must follow the other.
struct ObjectPart {
  bool writes = true;
  std::optional<int64_t> slot;  // nothing: all of them
};

// ExternStates: what native code is given behind its arguments.
struct ExternStates {
  std::vector<graph::StateId> read, written;
  graph::StateId object;
  ObjectPart part;
  // The results of the calls in which PyTorch went back through this object in this graph, of a
  // call that may change all of it: where one of those has failed, a step of an optimizer must
  // fail, too.
  std::vector<graph::ValueId> marks;
};

// How a key begins: one that a call has for itself goes on with the number of that call in its
// graph, one that the program says with its values.
constexpr int64_t kOwnKey = 0, kWrittenKey = 1;

// Returns the slot of a key: in the order in which keys appear, and then again from the first,
// which orders more than need be.
int64_t SlotOf(ElaborationContext& elaboration, graph::InstanceId instance,
               std::vector<int64_t> key) {
  std::map<std::vector<int64_t>, int64_t>& slots =
      elaboration.places.instances[instance.index].slots;
  const auto next = static_cast<int64_t>(slots.size()) % kObjectSlots;
  return slots.emplace(std::move(key), next).first->second;
}

ObjectPart PartOf(ElaborationContext& elaboration, const program::Method& method, Frame& callee) {
  using program::Effect;
  const Effect effect = method.native->effect;
  if (effect == Effect::kReads) return {.writes = false};
  if (effect == Effect::kUnstated || effect == Effect::kWrites) return {};
  std::vector<int64_t> key = {kWrittenKey};
  for (program::ExprId part : method.native->keys) {
    key.push_back(EvaluateInt(elaboration, part, callee, "a key").value_or(0));
  }
  if (key.size() == 1) key = {kOwnKey, elaboration.object_calls[callee.instance]++};
  return {.slot = SlotOf(elaboration, callee.instance, std::move(key))};
}

ExternStates StatesOf(ElaborationContext& elaboration, graph::InstanceId instance, ObjectPart part,
                      std::vector<graph::StateId> read, std::vector<graph::StateId> written) {
  ExternStates states{std::move(read), std::move(written),
                      elaboration.places.instances[instance.index].object, part, {}};
  const bool changes_all = part.writes && !part.slot;
  if (elaboration.tape == nullptr || !changes_all) return states;
  const auto marks = elaboration.tape->marks.find(instance);
  if (marks != elaboration.tape->marks.end()) states.marks = marks->second;
  return states;
}

// Appends the states as operands, the object as the last; those that are written are results, too.
void AddStates(ElaborationContext& elaboration, const ExternStates& states, Range range,
               graph::Op& out, std::vector<graph::Type>& types) {
  for (graph::StateId state : states.read) {
    out.operands.push_back({ReadState(elaboration, state).value, {}, range});
  }
  for (graph::ValueId mark : states.marks) out.operands.push_back({mark, {}, range});
  for (graph::StateId state : states.written) {
    types.push_back(elaboration.module.states[state].type);
    out.operands.push_back({ReadState(elaboration, state).value, {}, range});
  }
  const graph::Type object = elaboration.module.states[states.object].type;
  const graph::ValueId value =
      states.part.slot ? elaboration.builder->StatePart(states.object, *states.part.slot, range)
                       : ReadState(elaboration, states.object).value;
  out.operands.push_back({value, {}, range});
  if (!states.part.writes) return;
  types.push_back(states.part.slot ? kObjectNumber : object);
  if (!states.part.slot) return;
  out.inplace.emplace_back(static_cast<int>(out.operands.size()) - 1,
                           static_cast<int>(types.size()) - 1);
}

// Makes the last results the states that the call has written.
void WriteStates(ElaborationContext& elaboration, const ExternStates& states, graph::OpId id) {
  const std::vector<graph::ValueId> made = elaboration.builder->graph().ops[id].results;
  std::vector<graph::StateId> written = states.written;
  if (states.part.writes) written.push_back(states.object);
  for (size_t i = 0; i < written.size(); ++i) {
    const graph::ValueId value = made[made.size() - written.size() + i];
    if (written[i] == states.object && states.part.slot) {
      elaboration.builder->WriteStatePart(value, states.object, *states.part.slot);
      continue;
    }
    elaboration.builder->NameAsState(value, written[i]);
    elaboration.method->pending[written[i]] = Tensor{value};
  }
}

// Puts in front of the arguments which method it is, and the names of what it is given. `mode`:
// behind its symbol, of a method that PyTorch differentiates.
void AddHead(ElaborationContext& elaboration, const program::Method& method, const char* mode,
             const ExternStates& states, std::vector<std::string> names, graph::Op& out) {
  const graph::Attribute head[] = {
      {attributes::kLibrary, method.native->library},
      {attributes::kSymbol, method.native->symbol + mode},
      {attributes::kActor, elaboration.program.actors[method.actor].name},
      {attributes::kReads, static_cast<int64_t>(states.read.size() + states.marks.size())},
      {attributes::kWrites, static_cast<int64_t>(states.written.size() + states.part.writes)},
      {attributes::kNames, static_cast<int64_t>(names.size())},
      {attributes::kObject, static_cast<int64_t>(states.part.writes)},
  };
  static_assert(std::size(head) == kExternHead);
  std::vector<graph::Attribute> all(std::begin(head), std::end(head));
  for (std::string& name : names) all.push_back({attributes::kName, std::move(name)});
  const auto add = [&](graph::StateId state) {
    all.push_back({attributes::kState, elaboration.module.states[state].name});
  };
  llvm::for_each(states.read, add);
  for (size_t i = 0; i < states.marks.size(); ++i) {
    all.push_back({attributes::kState, std::string(kAutogradMark)});
  }
  llvm::for_each(states.written, add);
  out.attributes.insert(out.attributes.begin(), all.begin(), all.end());
}

int64_t BytesOf(ElaborationContext& elaboration, const graph::Op& op,
                const std::vector<graph::Type>& results) {
  int64_t bytes = 0;
  for (const graph::Use& use : op.operands) bytes += elaboration.builder->type(use.value).bytes();
  for (const graph::Type& type : results) bytes += type.bytes();
  return bytes;
}

}  // namespace

Value CallExtern(ElaborationContext& elaboration, const program::Method& method, Frame& callee,
                 Range site) {
  const program::Extern& native = *method.native;
  if (!Step(elaboration, site, kStepsPerExtern)) return Value();
  const ExternStates states = StatesOf(elaboration, callee.instance,
                                       PartOf(elaboration, method, callee),
                                       LeavesOf(elaboration, native.reads, callee, site),
                                       LeavesOf(elaboration, native.writes, callee, site));
  graph::Op out;
  out.name = method.name;
  out.kernel = kExternKernel;
  out.fails = out.effect = true;
  out.exchangeable = native.effect != program::Effect::kUnstated;
  out.range = native.range;
  std::vector<std::string> names;
  for (const program::Parameter& parameter : method.signature.parameters) {
    const Value& value = *callee.locals[parameter.local.index];
    if (value.poisoned() || !AddArgument(elaboration, parameter.name, value, site, out, names)) {
      return Value();
    }
  }
  const bool by_auto = method.gradient_by == kGradientAuto;
  AddHead(elaboration, method, by_auto ? kAutogradCall : "", states, std::move(names), out);
  std::vector<graph::Type> types;
  if (method.signature.result.valid() &&
      !ResultTypes(elaboration, method.signature.result, callee, types, site)) {
    return Value();
  }
  if (by_auto) types.push_back(kMarkType);
  AddStates(elaboration, states, site, out, types);
  if (!CheckOperands(elaboration, method.name, out.operands.size(), types.size(), site)) {
    return Value();
  }
  MethodScope& scope = *elaboration.method;
  out.device = scope.call.device;
  for (const graph::Use& use : out.operands) CheckTransport(elaboration, use, out.device);
  out.flops = CostOf(elaboration, native.flops, callee);
  out.bytes = native.bytes.valid() ? CostOf(elaboration, native.bytes, callee)
                                   : BytesOf(elaboration, out, types);
  out.cost_unstated = !native.flops.valid() && !native.bytes.valid();
  out.call = CallOf(elaboration, scope);
  const graph::OpId id = elaboration.builder->AddOp(std::move(out), std::move(types));
  const std::vector<graph::ValueId> results = elaboration.builder->graph().ops[id].results;
  llvm::ArrayRef<graph::ValueId> made = results;
  WriteStates(elaboration, states, id);
  if (!method.signature.result.valid()) return Nothing();
  Value result = TakeResults(elaboration, method.signature.result, callee, site, made);
  CallByLabels(elaboration, result);
  return result;
}

bool KeepForAutograd(ElaborationContext& elaboration, const program::Method& method, graph::OpId id,
                     const std::vector<int64_t>& wanted) {
  std::vector<graph::Attribute>& attributes = elaboration.builder->graph().ops[id].attributes;
  auto& symbol = std::get<std::string>(attributes[kExternSymbol].value);
  if (symbol.ends_with(kAutogradKeep)) return false;
  symbol = method.native->symbol + kAutogradKeep;
  std::vector<int64_t> numbers = {id.index};
  llvm::append_range(numbers, wanted);
  auto& names = std::get<int64_t>(attributes[kExternNames].value);
  attributes.insert(attributes.begin() + kExternHead + names++,
                    {attributes::kName, std::string(kAutogradArgument)});
  attributes.push_back({kAutogradArgument, std::move(numbers)});
  return true;
}

std::vector<Tensor> CallAutograd(ElaborationContext& elaboration, const program::Method& method,
                                 const AutogradCall& call, Range site) {
  if (!Step(elaboration, site, kStepsPerExtern)) return {};
  MethodScope& scope = *elaboration.method;
  const graph::Op forward = elaboration.builder->graph().ops[call.forward];
  ObjectPart part;
  if (const graph::Value& number = elaboration.builder->value(forward.results.back());
      number.storage == graph::Value::kState) {
    part.slot = number.offset / kObjectNumber.bytes();  // the key of the forward call
  }
  const ExternStates states = StatesOf(elaboration, scope.call.instance, part, {}, {});
  graph::Op out;
  out.name = DerivedName(method.name);
  out.kernel = kExternKernel;
  out.fails = out.effect = true;
  out.exchangeable = method.native->effect != program::Effect::kUnstated;
  out.range = method.native->range;
  out.device = scope.call.device;
  std::vector<std::string> names;
  std::vector<int64_t> numbers = {call.forward.index};
  for (const auto& [result, gradient] : call.gradients) {
    numbers.push_back(result);
    names.push_back(fmt::format("gy[{}]", result));
    out.operands.push_back({gradient.value, gradient.via, site});
  }
  names.push_back(kAutogradMark);
  out.operands.push_back({forward.results[forward.results.size() - 2], {}, site});
  names.push_back(kAutogradArgument);
  out.attributes.push_back({kAutogradArgument, std::move(numbers)});
  AddHead(elaboration, method, kAutogradBackward, states, std::move(names), out);
  std::vector<graph::Type> types = call.types;
  types.push_back(kMarkType);
  AddStates(elaboration, states, site, out, types);
  for (const graph::Use& use : out.operands) CheckTransport(elaboration, use, out.device);
  out.flops = 2 * forward.flops;  // as of products: one for the arguments, one for what is trained
  out.bytes = forward.bytes + BytesOf(elaboration, out, types);
  out.cost_unstated = forward.cost_unstated;
  out.call = CallOf(elaboration, scope);
  const graph::OpId id = elaboration.builder->AddOp(std::move(out), std::move(types));
  const std::vector<graph::ValueId> results = elaboration.builder->graph().ops[id].results;
  WriteStates(elaboration, states, id);
  elaboration.tape->marks[scope.call.instance].push_back(results[call.types.size()]);
  std::vector<Tensor> made;
  for (size_t i = 0; i < call.types.size(); ++i) made.push_back(Tensor{results[i]});
  return made;
}

void CreateObject(ElaborationContext& elaboration, graph::InstanceId id) {
  const InstanceDetails& details = elaboration.places.instances[id.index];
  const program::Actor& actor = elaboration.program.actors[details.actor];
  const graph::Instance& instance = elaboration.module.instances[id];
  if (!Step(elaboration, instance.range, kStepsPerExtern)) return;
  graph::Op out;
  out.name = out.kernel = kExternCreateKernel;
  out.fails = out.effect = true;
  out.range = actor.range;
  std::vector<std::string> symbols, names;
  for (program::MethodId method : actor.methods) {
    const std::optional<program::Extern>& native = elaboration.program.methods[method].native;
    if (native) symbols.push_back(native->symbol);
  }
  const graph::Attribute head[] = {
      {attributes::kLibrary, actor.library},
      {attributes::kSymbol, actor.name},
      {attributes::kPlace, instance.name},
      {attributes::kMethods, static_cast<int64_t>(symbols.size())},
  };
  static_assert(std::size(head) == kExternCreateHead);
  out.attributes.assign(std::begin(head), std::end(head));
  for (std::string& symbol : symbols) {
    out.attributes.push_back({attributes::kMethod, std::move(symbol)});
  }
  for (const program::Parameter& parameter : actor.parameters) {
    const Value& value = *details.frame.locals[parameter.local.index];
    if (value.poisoned() ||
        !AddArgument(elaboration, parameter.name, value, parameter.range, out, names)) {
      return;
    }
  }
  MethodScope scope{MakeCall(elaboration, id, "create", instance.device, instance.range)};
  llvm::SaveAndRestore<MethodScope*> inside(elaboration.method, &scope);
  out.device = instance.device;
  out.call = CallOf(elaboration, scope);
  const graph::OpId made =
      elaboration.builder->AddOp(std::move(out), {elaboration.module.states[details.object].type});
  scope.pending[details.object] = Tensor{elaboration.builder->graph().ops[made].results[0]};
  CommitStates(elaboration, scope);
}

}  // namespace cgraph::elaborate
