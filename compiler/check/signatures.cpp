// The step ResolveSignatures: every declaration in turn.
#include <fmt/format.h>

#include "compiler/base/kernels.h"
#include "compiler/check/calls/calls.h"
#include "compiler/check/checker.h"
#include "compiler/check/expressions/resolve.h"
#include "compiler/check/gradients/gradients.h"
#include "compiler/check/scope/scope.h"
#include "compiler/check/types/types.h"

namespace cgraph::check {

using namespace program;

namespace {

// ---- signatures ---------------------------------------------------------------------------------

// Resolves the transport that another one is a name of: bodies ask for it.
void TransportBase(Checker& checker, TransportId id) {
  const syntax::TransportDecl& decl = *checker.transports[id].decl;
  if (auto base = ParseTransport(decl.base.text)) {
    checker.program.transports[id].base = *base;
    return;
  }
  Diagnostic& diagnostic = checker.diagnostics.Report(
      Code::kE0314, decl.base.range,
      fmt::format("a named transport is one of {}, with options", TransportList()));
  checker.Suggest(diagnostic, decl.base.range, decl.base.text, TransportNames());
}

// Marks the parameters that name dimensions, by their names.
void MarkAxes(Signature& signature) {
  for (Parameter& parameter : signature.parameters) {
    const std::string& name = parameter.name;
    const bool one =
        name == kDimParameter || name == kStartDimParameter || name == kEndDimParameter;
    if (one) parameter.axis = AxisRole::kAxis;
    if (name == kDimsParameter) parameter.axis = AxisRole::kAxes;
  }
}

void OpSignature(Checker& checker, OpId id) {
  const auto& [module, decl] = checker.ops[id];
  Op& op = checker.program.ops[id];
  auto scope = std::make_unique<Scope>(checker, *module, Site::kOp, &op.signature, &op.locals);
  ResolveGenerics(*scope, decl->generics);
  op.signature.parameters = ResolveParameters(*scope, decl->parameters);
  MarkAxes(op.signature);
  ResolveResult(*scope, decl->result);
  checker.op_scopes.Add(std::move(scope));
}

void FnSignature(Checker& checker, FnId id) {
  const auto& [module, decl] = checker.fns[id];
  Fn& fn = checker.program.fns[id];
  auto scope = std::make_unique<Scope>(checker, *module, Site::kFn, &fn.signature, &fn.body.locals);
  ResolveGenerics(*scope, decl->generics);
  fn.signature.parameters = ResolveParameters(*scope, decl->parameters);
  MarkAxes(fn.signature);
  ResolveResult(*scope, decl->result);
  checker.fn_scopes.Add(std::move(scope));
}

void ActorSignature(Checker& checker, ActorId id) {
  const auto& [module, decl] = checker.actors[id];
  Actor& actor = checker.program.actors[id];
  auto scope = std::make_unique<Scope>(checker, *module, Site::kActor, nullptr, &actor.locals);
  actor.parameters = ResolveParameters(*scope, decl->parameters);
  for (StateId state_id : actor.states) {
    State& state = checker.program.states[state_id];
    state.type = ResolveType(*scope, checker.states[state_id].decl->type, TypeRole::kState);
    for (const Parameter& parameter : actor.parameters) {
      if (parameter.name != state.name) continue;
      checker.diagnostics
          .Report(Code::kE0302, state.range,
                  fmt::format("`{}` is a parameter and a state of the same actor", state.name))
          .AddNote(parameter.range, "the parameter");
    }
  }
  checker.actor_scopes.Add(std::move(scope));
}

void MethodSignature(Checker& checker, MethodId id) {
  const auto& [module, decl] = checker.methods[id];
  Method& method = checker.program.methods[id];
  auto scope = std::make_unique<Scope>(checker, *module, Site::kMethod, &method.signature,
                                       &method.body.locals);
  InheritActor(*scope, method.actor);
  method.signature.parameters = ResolveParameters(*scope, decl->parameters);
  ResolveResult(*scope, decl->result);
  checker.method_scopes.Add(std::move(scope));
}

void GraphSignature(Checker& checker, GraphId id) {
  const auto& [module, decl] = checker.graphs[id];
  Graph& graph = checker.program.graphs[id];
  auto scope =
      std::make_unique<Scope>(checker, *module, Site::kGraph, &graph.signature, &graph.body.locals);
  graph.signature.parameters = ResolveParameters(*scope, decl->parameters);
  ResolveResult(*scope, decl->result);
  checker.graph_scopes.Add(std::move(scope));
}

}  // namespace

void ResolveSignatures(Checker& checker) {
  Program& program = checker.program;
  for (NamedTypeId id : program.named_types.Ids()) ResolveNamedType(checker, id);
  for (ConstId id : program.consts.Ids()) {
    const auto& [module, decl] = checker.consts[id];
    if (!decl->type.valid()) continue;
    Scope scope(checker, *module, Site::kConst, nullptr, &program.consts[id].locals);
    program.consts[id].type = ResolveType(scope, decl->type, TypeRole::kConst);
    checker.const_types[id] = StaticOf(program, program.consts[id].type);
  }
  for (TransportId id : program.transports.Ids()) TransportBase(checker, id);
  for (OpId id : program.ops.Ids()) OpSignature(checker, id);
  for (FnId id : program.fns.Ids()) FnSignature(checker, id);
  for (ActorId id : program.actors.Ids()) ActorSignature(checker, id);
  for (MethodId id : program.methods.Ids()) MethodSignature(checker, id);
  for (OptimizerId id : program.optimizers.Ids()) ResolveOptimizerSignature(checker, id);
  for (GraphId id : program.graphs.Ids()) GraphSignature(checker, id);
  // Bodies ask for a place's actor, and for its number of indices.
  for (PlaceId id : program.places.Ids()) {
    const auto& [module, decl] = checker.places[id];
    Place& place = program.places[id];
    Scope scope(checker, *module, Site::kPlace, nullptr, &place.locals);
    place.indices.resize(decl->indices.size());
    const auto* call = std::get_if<syntax::CallExpr>(&module->file.exprs[decl->actor].node);
    if (auto actor = ResolveActorName(scope, call ? call->callee : decl->actor)) {
      place.actor = *actor;
    }
    if (decl->trained_by.valid()) place.trained = ResolveTrainedBy(scope, decl->trained_by);
  }
}

}  // namespace cgraph::check
