#include <algorithm>

#include <fmt/format.h>

#include "compiler/base/kernels.h"
#include "compiler/elaborate/budget.h"
#include "compiler/elaborate/calls/calls.h"
#include "compiler/elaborate/calls/method_scope.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/ops/ops.h"
#include "compiler/elaborate/places/places.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/values/make.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SaveAndRestore.h"
#include "runtime/kinds/native.h"

namespace cgraph::elaborate {
namespace {

// The steps for a call, in expressions, by its memory and time.
constexpr int64_t kStepsPerExtern = 16;

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
  names.push_back(name);
  if (auto* number = value.As<int64_t>()) {
    out.attributes.push_back({name, *number});
  } else if (auto* real = value.As<double>()) {
    out.attributes.push_back({name, *real});
  } else if (auto* truth = value.As<bool>()) {
    out.attributes.push_back({name, *truth});
  } else if (auto* text = value.As<std::string>()) {
    out.attributes.push_back({name, *text});
  } else if (std::optional<std::vector<int64_t>> ints = IntsOf(value)) {
    out.attributes.push_back({name, std::move(*ints)});
  } else {
    const List* list = value.As<List>();
    const bool is_empty = list && list->items->empty();  // would be no attribute and no operand
    if (is_empty || !IsTensors(value)) {
      Report(elaboration, Code::kE0406, range,
             fmt::format("native code takes tensors, numbers, texts and lists of ints; `{}` is {}",
                         name, is_empty ? "an empty list" : Describe(elaboration, value)));
      return false;
    }
    names.pop_back();
    MapLeaves(elaboration, range, value, [&, at = 0](const Value& leaf) mutable {
      const Tensor& tensor = *leaf.As<Tensor>();
      names.push_back(list || value.As<Tuple>() ? fmt::format("{}[{}]", name, at++) : name);
      out.operands.push_back({tensor.value, tensor.via, tensor.use.valid() ? tensor.use : range});
      return leaf;
    });
  }
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

// Appends the states as operands; those that are written are results, too.
void AddStates(ElaborationContext& elaboration, const std::vector<graph::StateId>& read,
               const std::vector<graph::StateId>& written, Range range, graph::Op& out,
               std::vector<graph::Type>& types) {
  for (const std::vector<graph::StateId>* states : {&read, &written}) {
    for (graph::StateId state : *states) {
      if (states == &written) {
        types.push_back(elaboration.module.states[state].type);
      }
      out.operands.push_back({ReadState(elaboration, state).value, {}, range});
    }
  }
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
  const std::vector<graph::StateId> read = LeavesOf(elaboration, native.reads, callee, site);
  std::vector<graph::StateId> written = LeavesOf(elaboration, native.writes, callee, site);
  written.push_back(elaboration.places.instances[callee.instance.index].object);
  graph::Op out;
  out.name = method.name;
  out.kernel = kExternKernel;
  out.fails = out.effect = true;
  out.range = native.range;
  std::vector<std::string> names;
  for (const program::Parameter& parameter : method.signature.parameters) {
    const Value& value = *callee.locals[parameter.local.index];
    if (value.poisoned() || !AddArgument(elaboration, parameter.name, value, site, out, names)) {
      return Value();
    }
  }
  std::vector<graph::Attribute> head = {{"library", native.library},
                                        {"symbol", native.symbol},
                                        {"actor", elaboration.program.actors[method.actor].name},
                                        {"reads", static_cast<int64_t>(read.size())},
                                        {"writes", static_cast<int64_t>(written.size())},
                                        {"names", static_cast<int64_t>(names.size())}};
  for (std::string& name : names) head.push_back({"name", std::move(name)});
  for (const std::vector<graph::StateId>& states : {read, written}) {
    for (graph::StateId state : states) {
      const std::string& name = elaboration.module.states[state].name;
      if (name != kNativeObjectState) head.push_back({"state", name});
    }
  }
  out.attributes.insert(out.attributes.begin(), head.begin(), head.end());
  std::vector<graph::Type> types;
  if (method.signature.result.valid() &&
      !ResultTypes(elaboration, method.signature.result, callee, types, site)) {
    return Value();
  }
  AddStates(elaboration, read, written, site, out, types);
  if (!CheckOperands(elaboration, method.name, out.operands.size(), types.size(), site)) {
    return Value();
  }
  MethodScope& scope = *elaboration.method;
  out.device = scope.call.device;
  for (const graph::Use& use : out.operands) CheckTransport(elaboration, use, out.device);
  out.flops = CostOf(elaboration, native.flops, callee);
  out.bytes = native.bytes.valid() ? CostOf(elaboration, native.bytes, callee)
                                   : BytesOf(elaboration, out, types);
  out.call = CallOf(elaboration, scope);
  const graph::OpId id = elaboration.builder->AddOp(std::move(out), std::move(types));
  const std::vector<graph::ValueId> results = elaboration.builder->graph().ops[id].results;
  llvm::ArrayRef<graph::ValueId> made = results;
  for (size_t i = 0; i < written.size(); ++i) {
    scope.pending[written[i]] = Tensor{made[made.size() - written.size() + i]};
  }
  return method.signature.result.valid()
             ? TakeResults(elaboration, method.signature.result, callee, site, made)
             : Nothing();
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
  out.attributes = {{"library", actor.library},
                    {"symbol", actor.name},
                    {"place", instance.name},
                    {"methods", static_cast<int64_t>(symbols.size())}};
  for (std::string& symbol : symbols) out.attributes.push_back({"method", std::move(symbol)});
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
