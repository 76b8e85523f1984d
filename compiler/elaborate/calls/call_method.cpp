#include "compiler/elaborate/calls/calls.h"

#include <fmt/format.h>

#include "compiler/elaborate/calls/arguments.h"
#include "compiler/elaborate/calls/method_scope.h"
#include "compiler/elaborate/calls/optimizers.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/eval.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/gradients/tape.h"
#include "compiler/elaborate/places/places.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/values/make.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SaveAndRestore.h"

namespace cgraph::elaborate {
namespace {

// Returns the method; invalid (and reported) where the instance's actor has no method of that name.
program::MethodId MethodOf(ElaborationContext& elaboration, const program::CallMethod& e,
                           graph::InstanceId id) {
  const program::ActorId actor = elaboration.places.instances[id.index].actor;
  const program::MethodId method = FindMethod(elaboration.program, actor, e.name);
  if (method.valid()) return method;
  const graph::Instance& instance = elaboration.module.instances[id];
  std::vector<std::string> names;
  for (const program::Method& other : elaboration.program.methods) {
    if (other.actor == actor) names.push_back(other.name);
  }
  Report(elaboration, Code::kE0312, e.name_range,
         fmt::format("`{}` is made of actor `{}`, which has no method `{}`", instance.name,
                     instance.actor, e.name))
      .Suggest(e.name_range, e.name, names)
      .AddNote(elaboration.program.actors[actor].range, "declared here");
  return {};
}

// What does it instead where a method is called on what has none.
std::string MendOf(const ElaborationContext& elaboration, const program::CallMethod& e,
                   const Value& receiver) {
  const std::string text =
      elaboration.diagnostics.sources().Text(elaboration.program.exprs[e.receiver].range);
  const bool grows = e.name == "append" || e.name == "push" || e.name == "push_back";
  if (grows && receiver.As<List>()) return fmt::format("; write {0} = {0} + [x]", text);
  const auto has_name = [&](const auto& declared) { return declared.name == e.name; };
  const bool function = llvm::any_of(elaboration.program.ops, has_name) ||
                        llvm::any_of(elaboration.program.fns, has_name);
  return function ? fmt::format("; write {}({}{})", e.name, text,
                                e.arguments.empty() ? "" : ", ...")
                  : "";
}

// Returns the argument as it is handed over; a value that cannot travel is reported here.
Value HandedOver(ElaborationContext& elaboration, const Actual& actual) {
  return MapLeaves(elaboration, actual.range, actual.value, [&](const Value& leaf) {
    Tensor tensor = *leaf.As<Tensor>();
    tensor.use = actual.range;
    return Value(tensor);
  });
}

}  // namespace

Frame FrameOf(const ElaborationContext& elaboration, const program::Method& method,
              graph::InstanceId id) {
  const InstanceDetails& details = elaboration.places.instances[id.index];
  Frame frame(elaboration.module.instances[id].name + "." + method.name, &method.signature,
              &method.body.locals);
  const size_t fixed = elaboration.program.actors[details.actor].parameters.size();
  for (size_t i = 0; i < fixed; ++i) frame.locals[i] = details.frame.locals[i];
  frame.instance = id;
  return frame;
}

Value Eval(ElaborationContext& elaboration, const program::CallMethod& e, const Context& context) {
  Value receiver = Evaluate(elaboration, e.receiver, context.frame);
  if (receiver.poisoned()) return receiver;
  const graph::InstanceId* instance_id = receiver.As<graph::InstanceId>();
  if (!instance_id) {
    Report(elaboration, Code::kE0406, elaboration.program.exprs[e.receiver].range,
           fmt::format("only places have methods, and this is {}{}",
                       Describe(elaboration, receiver), MendOf(elaboration, e, receiver)));
    return Value();
  }
  if (elaboration.method || !elaboration.builder) {
    Report(elaboration, Code::kE0604, context.range,
           "methods of places are called by graphs, not by methods or initial values");
    return Value();
  }
  if (IsUpdate(elaboration, *instance_id, e.name)) {
    std::vector<Actual> actuals =
        EvaluateArguments(elaboration, e.arguments, nullptr, context.frame, context.frame);
    for (Actual& actual : actuals) actual.value = HandedOver(elaboration, actual);
    return CallUpdate(elaboration, *instance_id, std::move(actuals), context.range);
  }
  const program::MethodId method_id = MethodOf(elaboration, e, *instance_id);
  if (!method_id.valid()) return Value();
  elaboration.called.insert(method_id);
  const program::Method& method = elaboration.program.methods[method_id];
  const graph::Instance& instance = elaboration.module.instances[*instance_id];
  Frame callee = FrameOf(elaboration, method, *instance_id);
  std::vector<Actual> actuals = EvaluateArguments(
      elaboration, e.arguments, &method.signature.parameters, callee, context.frame);
  for (Actual& actual : actuals) actual.value = HandedOver(elaboration, actual);
  if (!BindParameters(elaboration, method.signature.parameters, actuals, callee, context.range)) {
    return Value();
  }
  MethodScope scope{
      MakeCall(elaboration, *instance_id, method.name, instance.device, context.range)};
  scope.first_node = TapeSize(elaboration);
  llvm::SaveAndRestore<MethodScope*> inside(elaboration.method, &scope);
  Value result = method.native
                     ? CallExtern(elaboration, method, callee, context.range)
                     : CallBody(elaboration, method.signature, method.body, callee, context.range);
  if (result.poisoned()) return result;
  result = LeaveMethod(elaboration, scope, result);
  result = RecordMethod(elaboration, method_id, callee, result, scope.first_node, context.range);
  const bool is_right =
      elaboration.diagnostics.found_errors() == elaboration.errors_before_graph;
  if (is_right && !scope.call_id.valid() && !method.signature.result.valid()) {
    Report(elaboration, Code::kW0501, context.range,
           fmt::format("`{}` does nothing here and is removed", callee.subject));
  }
  if (!method.signature.via) return result;
  return WithVia(elaboration, context.range, result, JourneyOf(elaboration, *method.signature.via));
}

}  // namespace cgraph::elaborate
