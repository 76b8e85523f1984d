// The step ResolveBodies: the values, clauses and bodies behind the signatures.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/check/calls/calls.h"
#include "compiler/check/checker.h"
#include "compiler/check/clauses.h"
#include "compiler/check/expressions/resolve.h"
#include "compiler/check/gradients/gradients.h"
#include "compiler/check/scope/scope.h"
#include "compiler/check/statements/statements.h"
#include "compiler/check/types/types.h"
#include "llvm/ADT/STLExtras.h"

namespace cgraph::check {

using namespace program;

namespace {

void ConstBody(Checker& checker, ConstId id) {
  const auto& [module, decl] = checker.consts[id];
  Const& row = checker.program.consts[id];
  Scope scope(checker, *module, Site::kConst, nullptr, &row.locals);
  scope.of_const = id;
  Value value = ResolveCompileTime(scope, decl->value, "a const");
  row.value = value.id;
  if (row.type.valid()) {
    ExpectType(scope, row.type, value.type, module->file.exprs[decl->value].range,
               fmt::format("`{}`", row.name), row.range);
  } else {
    checker.const_types[id] = value.type;
  }
}

// ---- transports ---------------------------------------------------------------------------------

void TransportBody(Checker& checker, TransportId id) {
  const auto& [module, decl] = checker.transports[id];
  NamedTransport& row = checker.program.transports[id];
  Scope scope(checker, *module, Site::kConst, nullptr, &row.locals);
  for (const syntax::Argument& option : decl->arguments) {
    const std::string name = option.label ? option.label->text : "";
    const Range at = option.label ? option.label->range : module->file.exprs[option.value].range;
    const bool buffers = DeliveryOf(row.base) == Delivery::kBuffered;
    const bool known = buffers && name == "capacity";
    if (!known) {
      const char* has = buffers ? "it has `capacity`" : "there are none";
      checker.diagnostics.Report(
          Code::kE0315, at,
          name.empty() ? fmt::format("an option of `{}` has a label; {}", decl->base.text, has)
                       : fmt::format("`{}` has no option `{}`; {}", decl->base.text, name, has));
      continue;
    }
    const auto before = std::find_if(row.options.begin(), row.options.end(),
                                     [&](const Argument& other) { return other.label == name; });
    if (before != row.options.end()) {
      checker.diagnostics.Report(Code::kE0404, at, fmt::format("`{}` is given twice", name))
          .AddNote(before->range, "the first time here");
      continue;
    }
    row.options.push_back({name, ResolveInt(scope, option.value, "an option").id, at});
  }
}

// ---- ops ----------------------------------------------------------------------------------------

// Returns whether the type is T[*s] or T[*broadcast(...)]: the whole shape is one run.
bool IsOneRun(const Checker& checker, TypeId type) {
  const auto* tensor = std::get_if<TensorType>(&checker.program.types[type].node);
  return tensor && tensor->dims.size() == 1 && tensor->dims[0].kind == Dim::kRun;
}

void OpElementwise(Checker& checker, OpId id) {
  const syntax::OpDecl& decl = *checker.ops[id].decl;
  Op& op = checker.program.ops[id];
  op.elementwise = decl.elementwise.has_value();
  if (!op.elementwise || !op.signature.result.valid()) return;
  bool shaped = !op.fails && op.effect.empty() && IsOneRun(checker, op.signature.result);
  bool takes_tensor = false;
  for (const Parameter& parameter : op.signature.parameters) {
    const auto& type = checker.program.types[parameter.type].node;
    const bool compile_time = std::holds_alternative<CompileTimeType>(type);
    shaped &= compile_time || IsOneRun(checker, parameter.type);
    takes_tensor |= !compile_time;
  }
  if (shaped && takes_tensor) return;
  checker.diagnostics
      .Report(Code::kE0424, *decl.elementwise,
              "an `elementwise` op makes each element of its result of its operands' elements "
              "there: it takes tensors, all are written T[*s], and it neither fails nor has an "
              "effect")
      .AddNote(op.range, "the op is declared here");
}

// Resolves `kernel "name" (a, b)`: the parameters that the kernel is given, in its order.
void OpTakes(Checker& checker, OpId id) {
  Op& op = checker.program.ops[id];
  for (const syntax::Name& name : checker.ops[id].decl->takes) {
    const auto parameter = llvm::find_if(
        op.signature.parameters, [&](const Parameter& each) { return each.name == name.text; });
    const int at = static_cast<int>(parameter - op.signature.parameters.begin());
    if (parameter == op.signature.parameters.end() || llvm::is_contained(op.takes, at)) {
      checker.diagnostics
          .Report(
              Code::kE0424, name.range,
              fmt::format("behind a kernel's name stand parameters that it is given, each once; "
                          "`{}` is none",
                          name.text))
          .AddNote(op.range, "the op is declared here");
    } else {
      op.takes.push_back(at);
    }
  }
}

void OpBody(Checker& checker, OpId id) {
  const auto& [module, decl] = checker.ops[id];
  Op& op = checker.program.ops[id];
  Scope& scope = *checker.op_scopes[id];
  if (decl->where.valid()) op.where = ResolveCondition(scope, decl->where).id;
  ResolveCost(scope, decl->cost, op.flops, op.bytes);
  op.kernel = decl->kernel.empty() ? op.name : decl->kernel;
  OpTakes(checker, id);
  if (decl->deprecated.valid()) op.deprecated = ResolveValue(scope, decl->deprecated).id;
  if (decl->gradient && checker.program.has_gradients) {
    op.gradient = ResolveGradient(scope, *decl->gradient);
  }
  op.effect = decl->effect ? decl->effect->text : "";
  op.fails = decl->fails;
  OpElementwise(checker, id);
  CheckKernel(checker, id);
  if (!decl->inplace) return;
  for (size_t i = 0; i < op.signature.parameters.size(); ++i) {
    const Parameter& parameter = op.signature.parameters[i];
    const auto& type = checker.program.types[parameter.type].node;
    if (parameter.name == decl->inplace->text && std::holds_alternative<TensorType>(type)) {
      op.inplace = static_cast<int>(i);
    }
  }
  if (op.inplace < 0) {
    checker.diagnostics
        .Report(Code::kE0424, decl->inplace->range,
                fmt::format("`inplace` names the tensor parameter that may be overwritten, and "
                            "`{}` is none",
                            decl->inplace->text))
        .AddNote(op.range, "the op is declared here");
  }
}

// ---- actors and places --------------------------------------------------------------------------

void ActorBody(Checker& checker, ActorId id) {
  Actor& actor = checker.program.actors[id];
  Scope& scope = *checker.actor_scopes[id];
  ResolveDefaults(scope, checker.actors[id].decl->parameters, actor.parameters);
  for (StateId state_id : actor.states) {
    const auto& [module, decl] = checker.states[state_id];
    State& state = checker.program.states[state_id];
    Value value = ResolveValue(scope, decl->value);
    state.value = value.id;
    ExpectType(scope, state.type, value.type, module->file.exprs[decl->value].range,
               fmt::format("state `{}`", state.name), state.range);
  }
}

void PlaceBody(Checker& checker, PlaceId id) {
  const auto& [module, decl] = checker.places[id];
  Place& place = checker.program.places[id];
  Scope scope(checker, *module, Site::kPlace, nullptr, &place.locals);
  for (size_t i = 0; i < decl->indices.size(); ++i) {
    const syntax::Index& written = decl->indices[i];
    ExprId range = ResolveIndexRange(scope, written.range);
    LocalId local =
        DeclareLocal(scope, written.name, StaticType::Of(StaticType::kInt), LocalKind::kFixed);
    place.indices[i] = {written.name.text, local, range};
  }
  const syntax::Expr& actor = module->file.exprs[decl->actor];
  const auto* call = std::get_if<syntax::CallExpr>(&actor.node);
  if (!call || call->type_argument.valid()) {
    checker.diagnostics.Report(Code::kE0421, actor.range,
                               "a place is an actor with its arguments: Actor(1, 2)");
  } else if (place.actor.valid()) {
    place.arguments = ResolveActorArguments(scope, call->arguments, place.actor, actor.range);
  }
  for (const syntax::Name& name : decl->along) {
    place.along.push_back(name.text);
    const auto is_index = [&](const syntax::Index& index) { return index.name.text == name.text; };
    if (llvm::any_of(decl->indices, is_index)) continue;
    std::vector<std::string> indices;
    for (const syntax::Index& index : decl->indices) indices.push_back(index.name.text);
    Diagnostic& diagnostic = checker.diagnostics.Report(
        Code::kE0301, name.range,
        fmt::format("`equal along` names an index of the place, and `{}` is none", name.text));
    checker.Suggest(diagnostic, name.range, name.text, indices);
  }
  Value device = ResolveValue(scope, decl->device);
  place.device = device.id;
  if (device.type.known() && device.type.kind != StaticType::kDevice) {
    const char* mend = device.type.kind == StaticType::kList
                           ? "; an array of places has one each: place l[i in 0..2] = Layer() on "
                             "gpu[i]"
                           : "";
    checker.diagnostics.Report(
        Code::kE0421, module->file.exprs[decl->device].range,
        fmt::format("a place stands on a device such as gpu[0]; this is {}{}",
                    Describe(checker.program, device.type), mend));
  }
  if (place.trained) CheckTrained(scope, place, decl->trained_by);
}

// Checks `equal along t` of a param: places of its actor have the index.
void CheckAlong(Checker& checker, StateId id) {
  const State& state = checker.program.states[id];
  for (const syntax::Name& name : checker.states[id].decl->along) {
    std::vector<std::string> indices;
    for (const Place& place : checker.program.places) {
      if (place.actor != state.actor) continue;
      for (const IndexRange& index : place.indices) indices.push_back(index.name);
    }
    if (!state.is_param) {
      checker.diagnostics.Report(Code::kE0424, name.range,
                                 fmt::format("only params are `equal along` an index, and `{0}` is "
                                             "a state; `param {0}: ...` declares it as a param",
                                             state.name));
      return;
    }
    if (indices.empty() || llvm::is_contained(indices, name.text)) continue;
    Diagnostic& diagnostic = checker.diagnostics.Report(
        Code::kE0301, name.range,
        fmt::format("`equal along` names an index of the actor's places, and `{}` is none",
                    name.text));
    checker.Suggest(diagnostic, name.range, name.text, indices);
  }
}

// ---- graphs -------------------------------------------------------------------------------------

// Returns the time, or 0 where the value is no time that fits, which is reported.
uint64_t TimeoutOf(Checker& checker, const syntax::Expr& value) {
  const auto* quantity = std::get_if<syntax::QuantityLiteral>(&value.node);
  const UnitTraits* unit = quantity ? FindUnit(quantity->unit) : nullptr;
  if (unit != nullptr && unit->unit == PropertyUnit::kTime) {
    const double time = quantity->value * unit->factor;
    if (time >= 1 && time < 9e18) return static_cast<uint64_t>(time);
  }
  checker.diagnostics.Report(Code::kE0419, value.range,
                             "a timeout is a time above 0 and below 100 days: 500ms, 5s, 2min");
  return 0;
}

// Resolves `recompute f, g if p < 2`: the condition is over variables of the calls.
void Recompute(Checker& checker, GraphId id, const syntax::Attribute& attribute) {
  const Module& module = *checker.graphs[id].module;
  Graph::Recompute& row = checker.program.graphs[id].recompute.emplace();
  row.range = attribute.name.range;
  std::vector<syntax::Name> names = attribute.more;
  const syntax::Expr& first = module.file.exprs[attribute.value];
  const auto* word = std::get_if<syntax::NameExpr>(&first.node);
  names.insert(names.begin(), {word ? word->name : "", first.range});
  for (const syntax::Name& name : names) {
    const auto has_name = [&](const Method& method) { return method.name == name.text; };
    row.methods.push_back(name.text);
    if (llvm::any_of(checker.program.methods, has_name) || checker.names_missing) continue;
    std::vector<std::string> methods;
    for (const Method& method : checker.program.methods) methods.push_back(method.name);
    Diagnostic& diagnostic = checker.diagnostics.Report(
        Code::kE0312, name.range,
        "`recompute` names methods whose values are made again for their gradients, and no actor "
        "has this one");
    checker.Suggest(diagnostic, name.range, name.text, methods);
  }
  if (!attribute.condition.valid()) return;
  Scope scope(checker, module, Site::kConst, nullptr, &row.locals);
  scope.call_variables = &row.variables;
  row.condition = ResolveCondition(scope, attribute.condition).id;
}

void Inflight(Checker& checker, GraphId id, syntax::ExprId value) {
  Scope& scope = *checker.graph_scopes[id];
  scope.names.Hide(true);
  checker.program.graphs[id].inflight = ResolveInt(scope, value, "`inflight`").id;
  scope.names.Hide(false);
}

void Overlap(Checker& checker, GraphId id, syntax::ExprId value) {
  const syntax::Expr& expr = checker.graphs[id].module->file.exprs[value];
  const auto* word = std::get_if<syntax::NameExpr>(&expr.node);
  if (word && (word->name == "on" || word->name == "off")) {
    checker.program.graphs[id].overlap = word->name == "on";
  } else {
    checker.diagnostics.Report(Code::kE0419, expr.range, "`overlap` is `on` or `off`");
  }
}

void Timeout(Checker& checker, GraphId id, syntax::ExprId value) {
  const syntax::Expr& expr = checker.graphs[id].module->file.exprs[value];
  checker.program.graphs[id].timeout_ps = TimeoutOf(checker, expr);
}

constexpr std::pair<const char*, void (*)(Checker&, GraphId, syntax::ExprId)> kAttributes[] = {
    {"inflight", Inflight}, {"overlap", Overlap}, {"timeout", Timeout}};

void GraphAttribute(Checker& checker, GraphId id, const syntax::Attribute& attribute) {
  if (attribute.name.text == "recompute") return Recompute(checker, id, attribute);
  std::vector<std::string> names = {"recompute"};
  for (const auto& [name, resolve] : kAttributes) {
    if (attribute.name.text == name && attribute.more.empty() && !attribute.condition.valid()) {
      return resolve(checker, id, attribute.value);
    }
    if (attribute.name.text == name) {
      checker.diagnostics.Report(Code::kE0419, attribute.name.range,
                                 fmt::format("`{}` has one value, and no condition", name));
      return;
    }
    names.push_back(name);
  }
  names.push_back("using");  // a clause of its own, which people take for one
  const Range at = attribute.name.range;
  Diagnostic& diagnostic = checker.diagnostics.Report(
      Code::kE0315, at,
      fmt::format("a graph has no attribute `{}`; there are {}", attribute.name.text,
                  fmt::join(names, ", ")));
  checker.Suggest(diagnostic, at, attribute.name.text, names);
}

void GraphBody(Checker& checker, GraphId id) {
  const auto& [module, decl] = checker.graphs[id];
  Graph& graph = checker.program.graphs[id];
  Scope& scope = *checker.graph_scopes[id];
  const size_t errors = checker.diagnostics.errors();
  ResolveDefaults(scope, decl->parameters, graph.signature.parameters);
  std::map<std::string, Range> attributes;
  for (const syntax::Attribute& attribute : decl->attributes) {
    auto [first, added] = attributes.emplace(attribute.name.text, attribute.name.range);
    if (added) {
      GraphAttribute(checker, id, attribute);
      continue;
    }
    checker.diagnostics
        .Report(Code::kE0404, attribute.name.range,
                fmt::format("`{}` is given twice", attribute.name.text))
        .AddNote(first->second, "the first time here");
  }
  graph.body.statements = ResolveBody(scope, decl->body, decl->name);
  // A misspelt use of an input, or a use in code that was refused, does not make the input unread.
  if (checker.diagnostics.errors() > errors) return;
  for (const Parameter& parameter : graph.signature.parameters) {
    if (scope.names.IsUsed(parameter.local) || parameter.name[0] == '_') continue;
    // Another input of this name hides it, which was reported.
    if (scope.names.Find(parameter.name) != parameter.local) continue;
    checker.diagnostics.Report(Code::kW0301, parameter.range,
                               fmt::format("nothing reads `{0}`; a name such as `_{0}` says that "
                                           "this is meant",
                                           parameter.name));
  }
}

}  // namespace

void ResolveBodies(Checker& checker) {
  Program& program = checker.program;
  // A call may leave out what has a default, also above the declaration.
  for (OpId id : program.ops.Ids()) {
    ResolveDefaults(*checker.op_scopes[id], checker.ops[id].decl->parameters,
                    program.ops[id].signature.parameters);
  }
  for (FnId id : program.fns.Ids()) {
    ResolveDefaults(*checker.fn_scopes[id], checker.fns[id].decl->parameters,
                    program.fns[id].signature.parameters);
  }
  for (ConstId id : program.consts.Ids()) ConstBody(checker, id);
  for (TransportId id : program.transports.Ids()) TransportBody(checker, id);
  for (OpId id : program.ops.Ids()) OpBody(checker, id);
  for (FnId id : program.fns.Ids()) {
    const syntax::FnDecl& decl = *checker.fns[id].decl;
    Fn& fn = program.fns[id];
    if (decl.deprecated.valid()) {
      fn.deprecated = ResolveValue(*checker.fn_scopes[id], decl.deprecated).id;
    }
    if (decl.gradient && program.has_gradients) {
      fn.gradient = ResolveGradient(*checker.fn_scopes[id], *decl.gradient);
    }
    fn.body.statements = ResolveBody(*checker.fn_scopes[id], decl.body, decl.name);
  }
  for (ActorId id : program.actors.Ids()) ActorBody(checker, id);
  for (OptimizerId id : program.optimizers.Ids()) ResolveOptimizerBody(checker, id);
  for (MethodId id : program.methods.Ids()) {
    const syntax::MethodDecl& decl = *checker.methods[id].decl;
    Method& method = program.methods[id];
    ResolveDefaults(*checker.method_scopes[id], decl.parameters, method.signature.parameters);
    if (decl.native) {
      ResolveExtern(checker, id);
    } else {
      method.body.statements = ResolveBody(*checker.method_scopes[id], decl.body, decl.name);
    }
    ResolveGradientBy(checker, id);
  }
  for (PlaceId id : program.places.Ids()) PlaceBody(checker, id);
  for (StateId id : program.states.Ids()) CheckAlong(checker, id);
  for (GraphId id : program.graphs.Ids()) GraphBody(checker, id);
}

}  // namespace cgraph::check
