// The steps ResolveSignatures, ResolveBodies and CheckConstCycles: every declaration in turn.

#include <fmt/format.h>

#include "compiler/check/checker.h"
#include "compiler/check/resolver.h"

namespace cgraph::check {

using namespace program;

namespace {

// ---- signatures ---------------------------------------------------------------------------------

// What it is a name of: bodies ask.
void TransportBase(Checker& checker, TransportId id) {
  const syntax::TransportDecl& decl = *checker.transports[id].decl;
  if (auto base = ParseTransport(decl.base.text)) {
    checker.program.transports[id].base = *base;
    return;
  }
  const std::vector<std::string> transports = {
#define TRANSPORT(id, name) name,
#include "compiler/base/transports.def"
  };
  Diagnostic& diagnostic = checker.diagnostics.Report(
      Code::kE0314, decl.base.range,
      "a named transport is one of auto, local, shm, nccl, mpi and host, with options");
  checker.Suggest(diagnostic, decl.base.range, decl.base.text, transports);
}

void OpSignature(Checker& checker, OpId id) {
  const auto& [module, decl] = checker.ops[id];
  Op& op = checker.program.ops[id];
  auto resolver =
      std::make_unique<Resolver>(checker, *module, Site::kOp, &op.signature, &op.locals);
  resolver->ResolveGenerics(decl->generics);
  op.signature.parameters = resolver->ResolveParameters(decl->parameters);
  resolver->ResolveResult(decl->result);
  checker.op_resolvers.Add(std::move(resolver));
}

void FnSignature(Checker& checker, FnId id) {
  const auto& [module, decl] = checker.fns[id];
  Fn& fn = checker.program.fns[id];
  auto resolver =
      std::make_unique<Resolver>(checker, *module, Site::kFn, &fn.signature, &fn.body.locals);
  resolver->ResolveGenerics(decl->generics);
  fn.signature.parameters = resolver->ResolveParameters(decl->parameters);
  resolver->ResolveResult(decl->result);
  checker.fn_resolvers.Add(std::move(resolver));
}

void ActorSignature(Checker& checker, ActorId id) {
  const auto& [module, decl] = checker.actors[id];
  Actor& actor = checker.program.actors[id];
  auto resolver =
      std::make_unique<Resolver>(checker, *module, Site::kActor, nullptr, &actor.locals);
  actor.parameters = resolver->ResolveParameters(decl->parameters);
  for (StateId state_id : actor.states) {
    State& state = checker.program.states[state_id];
    state.type = resolver->ResolveType(checker.states[state_id].decl->type, TypeRole::kState);
    for (const Parameter& parameter : actor.parameters) {
      if (parameter.name != state.name) continue;
      checker.diagnostics
          .Report(Code::kE0302, state.range,
                  fmt::format("`{}` is a parameter and a state of the same actor", state.name))
          .AddNote(parameter.range, "the parameter");
    }
  }
  checker.actor_resolvers.Add(std::move(resolver));
}

void MethodSignature(Checker& checker, MethodId id) {
  const auto& [module, decl] = checker.methods[id];
  Method& method = checker.program.methods[id];
  auto resolver = std::make_unique<Resolver>(checker, *module, Site::kMethod, &method.signature,
                                             &method.body.locals);
  resolver->InheritActor(method.actor);
  method.signature.parameters = resolver->ResolveParameters(decl->parameters);
  resolver->ResolveResult(decl->result);
  checker.method_resolvers.Add(std::move(resolver));
}

void GraphSignature(Checker& checker, GraphId id) {
  const auto& [module, decl] = checker.graphs[id];
  Graph& graph = checker.program.graphs[id];
  auto resolver = std::make_unique<Resolver>(checker, *module, Site::kGraph, &graph.signature,
                                             &graph.body.locals);
  graph.signature.parameters = resolver->ResolveParameters(decl->parameters);
  resolver->ResolveResult(decl->result);
  checker.graph_resolvers.Add(std::move(resolver));
}

}  // namespace

void ResolveSignatures(Checker& checker) {
  Program& program = checker.program;
  for (ConstId id : program.consts.Ids()) {
    const auto& [module, decl] = checker.consts[id];
    if (!decl->type.valid()) continue;
    Resolver resolver(checker, *module, Site::kConst, nullptr, &program.consts[id].locals);
    program.consts[id].type = resolver.ResolveType(decl->type, TypeRole::kConst);
    checker.const_types[id] = StaticOf(program, program.consts[id].type);
  }
  for (TransportId id : program.transports.Ids()) TransportBase(checker, id);
  for (OpId id : program.ops.Ids()) OpSignature(checker, id);
  for (FnId id : program.fns.Ids()) FnSignature(checker, id);
  for (ActorId id : program.actors.Ids()) ActorSignature(checker, id);
  for (MethodId id : program.methods.Ids()) MethodSignature(checker, id);
  for (GraphId id : program.graphs.Ids()) GraphSignature(checker, id);
  // Bodies ask what a place is of, and how many indices it has.
  for (PlaceId id : program.places.Ids()) {
    const auto& [module, decl] = checker.places[id];
    Place& place = program.places[id];
    Resolver resolver(checker, *module, Site::kPlace, nullptr, &place.locals);
    place.indices.resize(decl->indices.size());
    const auto* call = std::get_if<syntax::CallExpr>(&module->file.exprs[decl->actor].node);
    if (auto actor = resolver.ResolveActorName(call ? call->callee : decl->actor)) {
      place.actor = *actor;
    }
  }
}

}  // namespace cgraph::check
