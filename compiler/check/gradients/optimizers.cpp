#include <fmt/format.h>

#include "compiler/check/calls/arguments.h"
#include "compiler/check/calls/calls.h"
#include "compiler/check/expressions/resolve.h"
#include "compiler/check/gradients/gradients.h"
#include "compiler/check/statements/statements.h"
#include "compiler/check/types/types.h"
#include "compiler/program/text.h"
#include "llvm/ADT/STLExtras.h"

namespace cgraph::check {

using namespace program;

namespace {

constexpr char kUpdateForm[] = "method update(w: T[*s], g: f32[*s], ...) -> T[*s]";

// Returns the one method of an optimizer; null (reported) where it has others, or none.
const syntax::MethodDecl* FindUpdate(Checker& checker, const syntax::OptimizerDecl& decl) {
  const syntax::MethodDecl* update = nullptr;
  for (const syntax::MethodDecl& method : decl.methods) {
    if (method.name.text == kUpdateMethod && update == nullptr && !method.native) {
      update = &method;
      continue;
    }
    checker.diagnostics.Report(
        Code::kE0424, method.name.range,
        fmt::format("an optimizer has one method, in the language: {}", kUpdateForm));
    return nullptr;
  }
  if (update == nullptr) {
    checker.diagnostics.Report(Code::kE0424, decl.name.range,
                               fmt::format("an optimizer has a method `update`: {}", kUpdateForm));
  }
  return update;
}

bool IsTensorType(const Program& program, TypeId id) {
  return id.valid() && std::holds_alternative<TensorType>(program.types[id].node);
}

// Reports an `update` that does not turn a tensor and its gradient into the tensor.
void CheckUpdate(Scope& scope, const syntax::MethodDecl& update) {
  const Signature& signature = *scope.signature;
  const auto& parameters = signature.parameters;
  const bool takes = parameters.size() >= 2 && IsTensorType(scope.program, parameters[0].type) &&
                     IsTensorType(scope.program, parameters[1].type);
  const bool makes = takes && IsTensorType(scope.program, signature.result) &&
                     TypeText(scope.program, signature, signature.result) ==
                         TypeText(scope.program, signature, parameters[0].type);
  if (makes) return;
  scope.Report(Code::kE0424, update.name.range,
               fmt::format("`update` takes a tensor and its gradient, then what its callers give, "
                           "and returns the new tensor: {}",
                           kUpdateForm));
}

void ResolveSlotType(Scope& scope, StateId id) {
  const syntax::StateDecl& decl = *scope.checker.states[id].decl;
  if (decl.is_param || !decl.along.empty()) {
    scope.Report(Code::kE0424, decl.name.range,
                 "what an optimizer keeps for each tensor is a `state`; params are of actors");
  }
  scope.program.states[id].type = ResolveType(scope, decl.type, TypeRole::kState);
}

// Resolves what a slot begins with: before the first `update` there is the tensor, and nothing else
// that `update` takes.
void ResolveSlotValue(Scope& scope, StateId id) {
  const syntax::StateDecl& decl = *scope.checker.states[id].decl;
  State& slot = scope.program.states[id];
  std::vector<LocalId> later;
  for (const Parameter& parameter : scope.signature->parameters) later.push_back(parameter.local);
  later.erase(later.begin());
  scope.names.TakeUsed({});
  const Value value = ResolveValue(scope, decl.value);
  const Range range = scope.Written(decl.value).range;
  for (LocalId used : scope.names.TakeUsed(later)) {
    scope
        .Report(
            Code::kE0316, range,
            fmt::format("`{}` is given to each call of `update`, and `{}` begins before the "
                        "first: with `{}` and the optimizer's parameters",
                        scope.names.row(used).name, slot.name, scope.signature->parameters[0].name))
        .AddNote(scope.names.row(used).range, "declared here");
  }
  slot.value = value.id;
  ExpectType(scope, slot.type, value.type, range, fmt::format("state `{}`", slot.name), slot.range);
}

// Reports labels that are of `update`, or of other libraries.
bool RefuseLabels(Scope& scope, const Arguments& given, const Optimizer& optimizer) {
  bool refused = false;
  for (const Argument& argument : given.arguments) {
    const auto has_name = [&](const Parameter& each) { return each.name == argument.label; };
    if (argument.label.empty() || llvm::any_of(optimizer.parameters, has_name)) continue;
    const MeantLabel meant = FindMeantLabel(optimizer, /*of_update=*/false, argument.label);
    if (meant.message.empty()) continue;
    Diagnostic& diagnostic = scope.Report(
        Code::kE0403, argument.range,
        fmt::format("optimizer `{}` has no parameter `{}`{}", optimizer.name, argument.label,
                    meant.message));
    if (!meant.fix.empty()) diagnostic.AddFix(argument.range, meant.fix);
    diagnostic.AddNote(optimizer.range, "declared here");
    refused = true;
  }
  return refused;
}

}  // namespace

void ResolveOptimizerSignature(Checker& checker, OptimizerId id) {
  const auto& [module, decl] = checker.optimizers[id];
  Optimizer& optimizer = checker.program.optimizers[id];
  const size_t errors = checker.diagnostics.errors();
  Checker::OptimizerScopes scopes{
      std::make_unique<Scope>(checker, *module, Site::kOptimizer, nullptr, &optimizer.locals),
      std::make_unique<Scope>(checker, *module, Site::kMethod, &optimizer.signature,
                              &optimizer.update.locals),
      FindUpdate(checker, *decl)};
  optimizer.parameters = ResolveParameters(*scopes.parameters, decl->parameters);
  Scope& scope = *scopes.update;
  scope.optimizer = id;
  ResolveGenerics(scope, decl->generics);
  for (const Parameter& parameter : optimizer.parameters) {
    DeclareLocal(scope, {parameter.name, parameter.range},
                 scopes.parameters->Declared(parameter.type), LocalKind::kFixed);
  }
  if (scopes.written != nullptr) {
    optimizer.signature.parameters = ResolveParameters(scope, scopes.written->parameters);
    ResolveResult(scope, scopes.written->result);
    if (checker.diagnostics.errors() == errors) CheckUpdate(scope, *scopes.written);
    for (StateId slot : optimizer.slots) ResolveSlotType(scope, slot);
  }
  // A body is looked at only where what it is made of is known.
  if (checker.diagnostics.errors() > errors) scopes.written = nullptr;
  checker.optimizer_scopes.Add(std::move(scopes));
}

void ResolveOptimizerBody(Checker& checker, OptimizerId id) {
  const Checker::OptimizerScopes& scopes = checker.optimizer_scopes[id];
  Optimizer& optimizer = checker.program.optimizers[id];
  ResolveDefaults(*scopes.parameters, checker.optimizers[id].decl->parameters,
                  optimizer.parameters);
  if (scopes.written == nullptr) return;
  Scope& scope = *scopes.update;
  ResolveDefaults(scope, scopes.written->parameters, optimizer.signature.parameters);
  // A slot may begin with an earlier one.
  for (StateId slot : std::exchange(optimizer.slots, {})) {
    ResolveSlotValue(scope, slot);
    optimizer.slots.push_back(slot);
  }
  optimizer.update.statements = ResolveBody(scope, scopes.written->body, scopes.written->name);
}

std::optional<Trained> ResolveTrainedBy(Scope& scope, syntax::ExprId written) {
  const syntax::Expr& expr = scope.Written(written);
  const auto* call = std::get_if<syntax::CallExpr>(&expr.node);
  const std::optional<OptimizerId> id = ResolveOptimizerName(scope, call ? call->callee : written);
  if (!id) return std::nullopt;
  if (call == nullptr || call->type_argument.valid()) {
    scope.Report(Code::kE0421, expr.range,
                 fmt::format("a place is trained by an optimizer with its arguments: {}()",
                             scope.program.optimizers[*id].name));
    return std::nullopt;
  }
  return Trained{*id, {}, expr.range};
}

void CheckTrained(Scope& scope, Place& place, syntax::ExprId written) {
  const auto& call = std::get<syntax::CallExpr>(scope.Written(written).node);
  const Optimizer& optimizer = scope.program.optimizers[place.trained->optimizer];
  Arguments given = ResolveArguments(scope, call.arguments);
  if (!RefuseLabels(scope, given, optimizer)) {
    CheckArguments(scope, given,
                   {"optimizer `" + optimizer.name + "`", &optimizer.parameters, nullptr,
                    &optimizer.locals, optimizer.range},
                   place.trained->range);
  }
  place.trained->arguments = std::move(given.arguments);
  if (!place.actor.valid()) return;
  const Actor& actor = scope.program.actors[place.actor];
  const MethodId update = FindMethod(scope.program, place.actor, kUpdateMethod);
  if (update.valid()) {
    scope
        .Report(Code::kE0911, place.trained->range,
                fmt::format("`trained by` gives `{}` a method `update`, and actor `{}` has one: "
                            "rename it",
                            place.name, actor.name))
        .AddNote(scope.program.methods[update].range, "declared here");
  }
  const auto is_param = [&](StateId id) { return scope.program.states[id].is_param; };
  if (llvm::any_of(actor.states, is_param) || scope.checker.names_missing) return;
  scope
      .Report(Code::kE0903, place.trained->range,
              fmt::format("`trained by` updates the params of a place, and actor `{}` has none{}",
                          actor.name,
                          actor.states.empty() ? "" : ", only states; `param w: ...` is one"))
      .AddNote(actor.range, "declared here");
}

}  // namespace cgraph::check
