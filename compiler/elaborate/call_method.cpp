// Method calls, and the state that they read and write.
//
// A call is atomic: while the body runs, what it assigns to state waits; after its last op come
// copies of what leaves the method but was not made by it (state, arguments: a result lives at its
// actor and never changes under its readers), and then the copies that commit the state. So nothing
// that may fail follows a write, and a failed call has changed nothing.
#include "compiler/base/check.h"
#include "compiler/elaborate/elaborator.h"
#include "fmt/format.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/SaveAndRestore.h"

namespace cgraph::elaboration {

Value Elaborator::Eval(const program::CallMethod& e, const Context& context) {
  Value receiver = Evaluate(e.receiver, context.frame);
  if (receiver.poisoned()) return receiver;
  const graph::InstanceId* instance_id = receiver.As<graph::InstanceId>();
  if (!instance_id) {
    Report(Code::kE0406, program_.exprs[e.receiver].range,
           fmt::format("`{}` is called on a place; this is {}", e.name, Describe(receiver)));
    return Value();
  }
  if (method_ || !builder_) {
    Report(Code::kE0604, context.range,
           "methods of places are called by graphs, not by methods or initial values");
    return Value();
  }
  const graph::Instance& instance = module_.instances[*instance_id];
  const InstanceDetails& details = instances_[instance_id->index];
  program::MethodId method_id = FindMethod(program_, details.actor, e.name);
  if (!method_id.valid()) {
    std::vector<std::string> names;
    for (const program::Method& method : program_.methods) {
      if (method.actor == details.actor) names.push_back(method.name);
    }
    Report(Code::kE0312, e.name_range,
           fmt::format("`{}` is made of actor `{}`, which has no method `{}`", instance.name,
                       instance.actor, e.name))
        .Suggest(e.name_range, e.name, names)
        .AddNote(program_.actors[details.actor].range, "declared here");
    return Value();
  }
  const program::Method& method = program_.methods[method_id];
  Frame callee(instance.name + "." + method.name, &method.signature, &method.body.locals);
  const std::vector<program::Parameter>& fixed = program_.actors[details.actor].parameters;
  for (size_t i = 0; i < fixed.size(); ++i) callee.locals[i] = details.frame.locals[i];
  callee.instance = *instance_id;

  std::vector<Actual> actuals = EvaluateArguments(e.arguments, &method.signature.parameters,
                                                  callee, context.frame);
  for (Actual& actual : actuals) {  // what cannot travel is reported where it was handed over
    actual.value = MapLeaves(actual.value, [&](const Value& leaf) {
      Tensor tensor = *leaf.As<Tensor>();
      tensor.use = actual.range;
      return Value(tensor);
    });
  }
  if (!BindParameters(method.signature.parameters, actuals, callee, context.range)) {
    return Value();
  }
  MethodScope scope{MakeCall(*instance_id, method.name, instance.device, context.range)};
  llvm::SaveAndRestore<MethodScope*> inside(method_, &scope);
  Value result = CallBody(method.signature, method.body, callee, context.range);
  if (result.poisoned()) return result;
  result = Finish(scope, result);
  if (!scope.call_id.valid() && !method.signature.result.valid()) {
    Report(Code::kW0501, context.range,
           fmt::format("`{}` does nothing here and is removed", callee.subject));
  }
  return method.signature.via ? WithVia(result, JourneyOf(*method.signature.via)) : result;
}

graph::CallId Elaborator::CallOf(MethodScope& scope) {
  if (!scope.call_id.valid()) scope.call_id = builder_->AddCall(scope.call);
  return scope.call_id;
}

Value Elaborator::Finish(MethodScope& scope, const Value& result) {
  OrderedMap<graph::ValueId, Tensor> snapshots;
  Value left = MapLeaves(result, [&](const Value& leaf) {
    const Tensor& tensor = *leaf.As<Tensor>();
    const graph::Value& value = builder_->value(tensor.value);
    bool made_here = value.storage == graph::Value::kTemporary && scope.call_id.valid() &&
                     builder_->graph().ops[value.producer].call == scope.call_id;
    if (made_here) return Value(Tensor{tensor.value, tensor.via, {}});
    auto [known, is_new] = snapshots.insert({tensor.value, Tensor()});
    if (is_new) known->second = Snapshot(scope, tensor);
    return Value(known->second);
  });
  CommitStates(scope);
  return left;
}

Tensor Elaborator::Snapshot(MethodScope& scope, const Tensor& tensor) {
  graph::Use use{tensor.value, tensor.via, tensor.use.valid() ? tensor.use : scope.call.site};
  CheckTransport(use, scope.call.device);
  return Tensor{builder_->AddCopy(CallOf(scope), use, scope.call.site)};
}

void Elaborator::CommitStates(MethodScope& scope) {
  // A state that is assigned to another, and itself assigned, is read before it is overwritten.
  for (auto& [state, tensor] : scope.pending) {
    if (tensor.value == builder_->CurrentState(state)) continue;
    const graph::Value& value = builder_->value(tensor.value);
    bool overwritten = value.storage == graph::Value::kState && scope.pending.count(value.state);
    if (overwritten) tensor = Snapshot(scope, tensor);
  }
  for (auto& [state, tensor] : scope.pending) {
    if (tensor.value == builder_->CurrentState(state)) continue;  // w = w
    graph::Use use{tensor.value, tensor.via, tensor.use.valid() ? tensor.use : scope.call.site};
    CheckTransport(use, scope.call.device);
    builder_->Commit(CallOf(scope), state, use, scope.call.site);
  }
}

// ---- state --------------------------------------------------------------------------------------

const Value& Elaborator::LayoutOf(program::StateId state, const Frame& frame) const {
  const InstanceDetails& details = instances_[frame.instance.index];
  const std::vector<program::StateId>& states = program_.actors[details.actor].states;
  auto at = llvm::find(states, state);
  CGRAPH_CHECK(at != states.end(), "elaborate", "a method reads its own actor's state");
  return details.layout[at - states.begin()];
}

Tensor Elaborator::ReadState(graph::StateId state) {
  if (method_) {
    auto written = method_->pending.find(state);
    if (written != method_->pending.end()) return written->second;
  }
  return Tensor{builder_->CurrentState(state)};
}

Value Elaborator::ReadStates(const Value& layout) {
  return MapLeaves(layout, [&](const Value& leaf) {
    const StateLeaf* state = leaf.As<StateLeaf>();
    return state ? Value(ReadState(state->state)) : leaf;
  });
}

Value Elaborator::Eval(const program::StateRef& e, const Context& context) {
  const Value& layout = LayoutOf(e.state, context.frame);
  const List* list = layout.As<List>();
  if (list && !Step(context.range, list->items->size())) return Value();
  return ReadStates(layout);
}

void Elaborator::AssignState(const program::Assign& s, Frame& frame, Range range) {
  const program::State& state = program_.states[s.state];
  Frame& owner = instances_[frame.instance.index].frame;
  const Value* target = &LayoutOf(s.state, frame);
  program::TypeId type = state.type;
  for (program::ExprId subscript : s.subscripts) {
    Range at = program_.exprs[subscript].range;
    std::optional<int64_t> index = EvaluateInt(subscript, frame, "an index");
    if (!index) return;
    const List* list = target->As<List>();
    if (!list) {
      Report(Code::kE0406, at,
             fmt::format("state `{}` is assigned as a whole; update_row() makes a tensor with one row "
                         "replaced",
                         state.name));
      return;
    }
    if (*index < 0 || *index >= static_cast<int64_t>(list->items->size())) {
      Report(Code::kE0511, at,
             fmt::format("[{}] is outside a list of {}", *index, list->items->size()));
      return;
    }
    target = &(*list->items)[*index];
    type = std::get<program::ListType>(program_.types[type].node).element;
  }
  Actual right{"", Evaluate(s.value, frame, {type, &owner}), program_.exprs[s.value].range};
  if (s.compound) {
    Actual left{"", ReadStates(*target), range};
    right.value = Binary(*s.compound, left, right, {frame, range, {}});
  }
  Value value = Adapt(right.value, type, owner, {"state", &state.name, state.range}, right.range);
  if (!value.poisoned()) StoreState(*target, value);
}

// `value` has the shape of `layout`: Adapt has seen to it.
void Elaborator::StoreState(const Value& layout, const Value& value) {
  if (const StateLeaf* leaf = layout.As<StateLeaf>()) {
    method_->pending[leaf->state] = *value.As<Tensor>();
  } else if (const List* list = layout.As<List>()) {
    for (size_t i = 0; i < list->items->size(); ++i) {
      StoreState((*list->items)[i], (*value.As<List>()->items)[i]);
    }
  } else if (const Tuple* tuple = layout.As<Tuple>()) {
    for (size_t i = 0; i < tuple->items->values.size(); ++i) {
      StoreState(tuple->items->values[i], value.As<Tuple>()->items->values[i]);
    }
  }
}

}  // namespace cgraph::elaboration
