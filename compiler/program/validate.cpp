// Validate: the promises of Check about a Program, checked from every declaration downwards.
//
// Every id is in range, a local belongs to the body it is used in, a state to the method's own
// actor, a dimension variable and a generic to the signature around it, and every expression,
// statement and type has one place in one tree.
#include "compiler/program/program.h"

#include <algorithm>
#include <vector>

#include "compiler/base/check.h"

namespace cgraph {

using namespace program;

namespace {

#define PROGRAM_CHECK(condition, what) CGRAPH_CHECK(condition, "check", std::string(what))

// Context: the things that the ids of one body may refer to.
struct Context {
  const Signature* signature = nullptr;
  const Table<LocalId, Local>* locals = nullptr;
  ActorId actor;                                // whose states are visible
  const std::vector<StateId>* slots = nullptr;  // or those of an optimizer
};

class Validator {
 public:
  explicit Validator(const Program& program)
      : program_(program),
        seen_exprs_(program.exprs.size()),
        seen_statements_(program.statements.size()),
        seen_types_(program.types.size()) {}

  void Run() {
    for (const Const& c : program_.consts) {
      Context context{nullptr, &c.locals, ActorId()};
      OptionalType(context, c.type);
      Walk(context, c.value);
    }
    for (const NamedType& named : program_.named_types) {
      const Context context{nullptr, &named.locals, ActorId()};
      ValidateParameters(context, named.parameters);
      Walk(context, named.type);
    }
    for (const NamedTransport& transport : program_.transports) {
      Walk(Context{nullptr, &transport.locals, ActorId()}, transport.options);
    }
    for (const Op& op : program_.ops) ValidateOp(op);
    for (const Fn& fn : program_.fns) {
      const Context context{&fn.signature, &fn.body.locals, ActorId()};
      ValidateBody(context, fn.body);
      OptionalExpr(context, fn.deprecated);
      ValidateGradient(context, fn.gradient);
    }
    for (ActorId id : program_.actors.Ids()) ValidateActor(id);
    for (const Optimizer& optimizer : program_.optimizers) ValidateOptimizer(optimizer);
    for (const Place& place : program_.places) ValidatePlace(place);
    for (const Graph& graph : program_.graphs) {
      Context context{&graph.signature, &graph.body.locals, ActorId()};
      ValidateBody(context, graph.body);
      OptionalExpr(context, graph.inflight);
      if (graph.use) ValidateUsing(*graph.use);
      if (graph.recompute) {
        OptionalExpr({nullptr, &graph.recompute->locals, ActorId()}, graph.recompute->condition);
      }
    }
    for (const Schedule& schedule : program_.schedules) ValidateSchedule(schedule);
    for (const Topology& topology : program_.topologies) ValidateTopology(topology);
    if (program_.topology) {
      PROGRAM_CHECK(program_.topologies.Contains(program_.topology->topology), "no such topology");
      Walk(Context{nullptr, &program_.topology->locals, ActorId()}, program_.topology->arguments);
    }
    for (const auto& [op, id] : program_.operator_ops) {
      PROGRAM_CHECK(program_.ops.Contains(id), std::string("no op for operator ") + Spelling(op));
    }
    for (OpId id : {program_.negate_op, program_.not_op, program_.cast_op, program_.stack_op,
                    program_.copy_op, program_.permute_op}) {
      PROGRAM_CHECK(program_.ops.Contains(id), "an op that the language needs is missing");
    }
  }

 private:
  // ---- declarations ----

  void ValidateOp(const Op& op) {
    Context context{&op.signature, &op.locals, ActorId()};
    ValidateSignature(context);
    OptionalExpr(context, op.where);
    OptionalExpr(context, op.flops);
    OptionalExpr(context, op.bytes);
    OptionalExpr(context, op.deprecated);
    ValidateGradient(context, op.gradient);
    PROGRAM_CHECK(!op.kernel.empty(), op.name + " has no kernel");
    PROGRAM_CHECK(op.inplace < static_cast<int>(op.signature.parameters.size()),
                  op.name + " is inplace of no parameter");
  }

  void ValidateGradient(const Context& context, const std::optional<Gradient>& gradient) {
    if (!gradient) return;
    for (LocalId local : {gradient->y, gradient->gy}) {
      if (local.valid()) UseLocal(context, local);
    }
    for (const Argument& argument : gradient->of) {
      PROGRAM_CHECK(argument.parameter >= 0, "a gradient of no parameter");
      PROGRAM_CHECK(argument.value.valid(), "a gradient without a value");
    }
    Walk(context, gradient->body);
    for (const Argument& argument : gradient->of) OptionalExpr(context, argument.value);
  }

  void ValidateActor(ActorId id) {
    const Actor& actor = program_.actors[id];
    Context context{nullptr, &actor.locals, ActorId()};
    ValidateParameters(context, actor.parameters);
    for (StateId state_id : actor.states) {
      PROGRAM_CHECK(program_.states.Contains(state_id), state_id.str());
      const State& state = program_.states[state_id];
      PROGRAM_CHECK(state.actor == id, state.name + " is a state of another actor");
      Walk(context, state.type);
      Walk(context, state.value);
    }
    for (MethodId method_id : actor.methods) {
      PROGRAM_CHECK(program_.methods.Contains(method_id), method_id.str());
      const Method& method = program_.methods[method_id];
      PROGRAM_CHECK(method.actor == id, method.name + " is a method of another actor");
      PROGRAM_CHECK(method.body.locals.size() >= actor.parameters.size(),
                    method.name + " lacks its actor's parameters");
      ValidateBody({&method.signature, &method.body.locals, id}, method.body);
      if (method.native) {
        ValidateExtern({&method.signature, &method.body.locals, id}, *method.native);
      }
    }
  }

  void ValidateOptimizer(const Optimizer& optimizer) {
    ValidateParameters({nullptr, &optimizer.locals, ActorId()}, optimizer.parameters);
    const Context context{&optimizer.signature, &optimizer.update.locals, ActorId(),
                          &optimizer.slots};
    PROGRAM_CHECK(optimizer.signature.parameters.size() >= 2, "an update of no tensor");
    PROGRAM_CHECK(optimizer.update.locals.size() >= optimizer.parameters.size(),
                  optimizer.name + " lacks its parameters");
    ValidateBody(context, optimizer.update);
    for (size_t i = 0; i < optimizer.slots.size(); ++i) {
      const StateId id = optimizer.slots[i];
      PROGRAM_CHECK(program_.states.Contains(id), id.str());
      PROGRAM_CHECK(id.index == optimizer.slots[0].index + i, "slots stand one after the other");
      PROGRAM_CHECK(!program_.states[id].actor.valid(), "a slot is of no actor");
      Walk(context, program_.states[id].type);
      Walk(context, program_.states[id].value);
    }
  }

  void ValidateExtern(const Context& context, const Extern& native) {
    PROGRAM_CHECK(native.library == program_.actors[context.actor].library,
                  "an actor has native methods of two libraries");
    for (const std::vector<StateId>* states : {&native.reads, &native.writes}) {
      for (StateId id : *states) {
        PROGRAM_CHECK(program_.states[id].actor == context.actor, "a state of another actor");
      }
    }
    OptionalExpr(context, native.flops);
    OptionalExpr(context, native.bytes);
  }

  void ValidatePlace(const Place& place) {
    Context context{nullptr, &place.locals, ActorId()};
    PROGRAM_CHECK(program_.actors.Contains(place.actor), place.name + " is of no actor");
    for (const IndexRange& index : place.indices) {
      UseLocal(context, index.local);
      Walk(context, index.range);
    }
    Walk(context, place.arguments);
    Walk(context, place.device);
    if (!place.trained) return;
    PROGRAM_CHECK(program_.optimizers.Contains(place.trained->optimizer),
                  place.name + " is trained by no optimizer");
    Walk(context, place.trained->arguments);
  }

  void ValidateSchedule(const Schedule& schedule) {
    const Context context{nullptr, &schedule.locals, ActorId()};
    ValidateParameters(context, schedule.parameters);
    UseLocal(context, schedule.index);
    for (LocalId variable : schedule.variables) UseLocal(context, variable);
    const auto validate = [&](const SortRule& sort) {
      UseKind(schedule, sort.kind);
      PROGRAM_CHECK(!sort.keys.empty(), "calls sorted by nothing");
      for (ExprId key : sort.keys) Walk(context, key);
      for (LocalId variable : sort.variables) UseLocal(context, variable);
    };
    for (const SortRule& sort : schedule.rankings) validate(sort);
    for (const OrderRule& order : schedule.orders) {
      PROGRAM_CHECK(!order.sorts.empty(), "an order of nothing");
      for (const SortRule& sort : order.sorts) validate(sort);
    }
    for (const LimitRule& limit : schedule.limits) {
      UseKind(schedule, limit.minuend);
      UseKind(schedule, limit.subtrahend);
      Walk(context, limit.bound);
      if (limit.condition.valid()) Walk(context, limit.condition);
      for (LocalId variable : limit.variables) UseLocal(context, variable);
    }
    for (const FuseRule& fusion : schedule.fusions) {
      UseKind(schedule, fusion.first);
      UseKind(schedule, fusion.second);
    }
    if (schedule.memory) Walk(context, schedule.memory->bytes);
  }

  void ValidateTopology(const Topology& topology) {
    const Context context{nullptr, &topology.locals, ActorId()};
    ValidateParameters(context, topology.parameters);
    for (const TopologyPart& part : topology.parts) {
      PROGRAM_CHECK((part.kind == kOfResource) == !part.device.valid(), "a part that is nothing");
      PROGRAM_CHECK((part.kind == kOfLink) == part.to.valid(), "a link without an end");
      for (const IndexRange& index : part.indices) {
        UseLocal(context, index.local);
        Walk(context, index.range);
      }
      OptionalExpr(context, part.device);
      OptionalExpr(context, part.to);
      OptionalExpr(context, part.condition);
      for (const TopologyPart::Property& property : part.properties) {
        Walk(context, property.value);
      }
      for (const TopologyPart::Hop& hop : part.through) {
        PROGRAM_CHECK(hop.resource < topology.parts.size() &&
                          topology.parts[hop.resource].kind == kOfResource,
                      "a way through what is no resource");
        for (ExprId index : hop.indices) Walk(context, index);
      }
    }
  }

  void UseKind(const Schedule& schedule, KindId kind) {
    PROGRAM_CHECK(schedule.kinds.Contains(kind), schedule.name + ": " + kind.str());
  }

  void ValidateUsing(const Using& use) {
    const Context context{nullptr, &use.locals, ActorId()};
    Walk(context, use.arguments);
    if (!use.schedule.valid()) return;
    PROGRAM_CHECK(program_.schedules.Contains(use.schedule), use.schedule.str());
    const Schedule& schedule = program_.schedules[use.schedule];
    PROGRAM_CHECK(use.methods.size() == schedule.kinds.size(), "kinds without methods");
    PROGRAM_CHECK(use.variables.size() == schedule.variables.size(), "variables that mean nothing");
    const auto use_variable = [&](const Using::Variable& variable) {
      OptionalExpr(context, variable.value);
      for (LocalId used : variable.uses) UseLocal(context, used);
    };
    for (const Using::Variable& variable : use.variables) use_variable(variable);
    use_variable(use.per);
  }

  void ValidateParameters(const Context& context, const std::vector<Parameter>& parameters) {
    for (const Parameter& parameter : parameters) {
      UseLocal(context, parameter.local);
      Walk(context, parameter.type);
      OptionalExpr(context, parameter.default_value);
    }
  }

  void ValidateSignature(const Context& context) {
    ValidateParameters(context, context.signature->parameters);
    OptionalType(context, context.signature->result);
    UseRoute(context.signature->via);
  }

  void ValidateBody(const Context& context, const Body& body) {
    ValidateSignature(context);
    Walk(context, body.statements);
  }

  // ---- statements ----

  void Walk(const Context& context, const std::vector<StatementId>& ids) {
    for (StatementId id : ids) {
      PROGRAM_CHECK(program_.statements.Contains(id), id.str());
      PROGRAM_CHECK(!seen_statements_[id.index], id.str() + " has two places");
      seen_statements_[id.index] = true;
      std::visit([&](const auto& node) { Visit(context, node); }, program_.statements[id].node);
    }
  }
  void Visit(const Context& context, const Bind& node) {
    UsePattern(context, node.pattern, node.tuple_pattern);
    UseRoute(node.via);
    OptionalType(context, node.type);
    Walk(context, node.value);
  }
  void Visit(const Context& context, const For& node) {
    UsePattern(context, node.pattern, node.tuple_pattern);
    Walk(context, node.list);
    Walk(context, node.body);
  }
  void Visit(const Context& context, const IfStatement& node) {
    Walk(context, node.condition);
    Walk(context, node.then_body);
    Walk(context, node.else_body);
  }
  void Visit(const Context& context, const Return& node) { Walk(context, node.value); }
  void Visit(const Context& context, const Repeat& node) {
    Walk(context, node.body);
    Walk(context, node.condition);
    Walk(context, node.limit);
    if (node.most.valid()) UseLocal(context, node.most);
    for (LocalId local : node.reads) UseLocal(context, local);
    for (LocalId local : node.writes) {
      UseLocal(context, local);
      PROGRAM_CHECK((*context.locals)[local].is_var, "assignment to what is no var");
    }
  }
  void Visit(const Context& context, const Assign& node) {
    PROGRAM_CHECK(node.local.valid() != node.state.valid(), "an assignment has one target");
    if (node.local.valid()) {
      UseLocal(context, node.local);
      PROGRAM_CHECK((*context.locals)[node.local].is_var, "assignment to what is no var");
    } else {
      UseState(context, node.state);
    }
    for (const Assign::Part& part : node.parts) {
      PROGRAM_CHECK(part.subscript.valid() == part.field.empty(), "a part that is not one thing");
      OptionalExpr(context, part.subscript);
    }
    Walk(context, node.value);
  }
  void Visit(const Context& context, const Evaluate& node) { Walk(context, node.call); }

  // ---- types ----

  void OptionalType(const Context& context, TypeId id) {
    if (id.valid()) Walk(context, id);
  }
  void Walk(const Context& context, TypeId id) {
    PROGRAM_CHECK(program_.types.Contains(id), id.str());
    PROGRAM_CHECK(!seen_types_[id.index], id.str() + " has two places");
    seen_types_[id.index] = true;
    std::visit([&](const auto& node) { Visit(context, node); }, program_.types[id].node);
  }
  void Visit(const Context& context, const TensorType& type) {
    if (!type.dtype) UseGeneric(context, type.generic);
    for (const Dim& dim : type.dims) {
      if (dim.variable.valid()) UseDim(context, dim.variable);
      OptionalExpr(context, dim.extent);
      OptionalExpr(context, dim.expr);
      bool complete = dim.kind == Dim::kBounded
                          ? dim.expr.valid() && dim.variable.valid() != dim.extent.valid()
                          : dim.variable.valid() != dim.expr.valid();
      PROGRAM_CHECK(complete, "a dimension that says nothing");
    }
  }
  void Visit(const Context&, const CompileTimeType&) {}
  void Visit(const Context& context, const ListType& type) {
    Walk(context, type.element);
    Walk(context, type.length);
  }
  void Visit(const Context& context, const TupleType& type) {
    for (const TupleType::Field& field : type.fields) Walk(context, field.type);
  }

  // ---- expressions ----

  void OptionalExpr(const Context& context, ExprId id) {
    if (id.valid()) Walk(context, id);
  }
  void Walk(const Context& context, const std::vector<ExprId>& ids) {
    for (ExprId id : ids) OptionalExpr(context, id);
  }
  void Walk(const Context& context, const std::vector<Argument>& arguments) {
    for (const Argument& argument : arguments) Walk(context, argument.value);
  }
  void Walk(const Context& context, ExprId id) {
    PROGRAM_CHECK(program_.exprs.Contains(id), id.str());
    PROGRAM_CHECK(!seen_exprs_[id.index], id.str() + " has two places");
    seen_exprs_[id.index] = true;
    std::visit([&](const auto& node) { Visit(context, node); }, program_.exprs[id].node);
  }
  void Visit(const Context&, const IntLiteral&) {}
  void Visit(const Context&, const FloatLiteral&) {}
  void Visit(const Context&, const BoolLiteral&) {}
  void Visit(const Context&, const NoneLiteral&) {}
  void Visit(const Context& context, const StringLiteral& node) {
    PROGRAM_CHECK(node.texts.size() == node.exprs.size() + 1, "a string in odd pieces");
    Walk(context, node.exprs);
  }
  void Visit(const Context& context, const LocalRef& node) { UseLocal(context, node.local); }
  void Visit(const Context& context, const StateRef& node) { UseState(context, node.state); }
  void Visit(const Context&, const ConstRef& node) {
    PROGRAM_CHECK(program_.consts.Contains(node.constant), node.constant.str());
  }
  void Visit(const Context&, const PlaceRef& node) {
    PROGRAM_CHECK(program_.places.Contains(node.place), node.place.str());
  }
  void Visit(const Context& context, const DimRef& node) { UseDim(context, node.variable); }
  void Visit(const Context& context, const GenericRef& node) { UseGeneric(context, node.generic); }
  void Visit(const Context& context, const DeviceRef& node) {
    PROGRAM_CHECK(node.kind != DeviceKind::kCaller, "the caller is no device of a program");
    OptionalExpr(context, node.node);
    Walk(context, node.index);
  }
  void Visit(const Context& context, const Unary& node) { Walk(context, node.operand); }
  void Visit(const Context& context, const Chain& node) {
    PROGRAM_CHECK(!node.operators.empty(), "a chain without operators");
    PROGRAM_CHECK(node.operands.size() == node.operators.size() + 1, "a chain in odd pieces");
    PROGRAM_CHECK(node.operator_ranges.size() == node.operators.size(), "operators and ranges");
    for (ExprId operand : node.operands) Walk(context, operand);
  }
  void Visit(const Context& context, const Field& node) { Walk(context, node.base); }
  void Visit(const Context& context, const Index& node) {
    PROGRAM_CHECK(!node.subscripts.empty(), "an index without subscripts");
    Walk(context, node.base);
    for (ExprId subscript : node.subscripts) OptionalExpr(context, subscript);
  }
  void Visit(const Context& context, const Tuple& node) { Walk(context, node.fields); }
  void Visit(const Context& context, const List& node) {
    for (ExprId item : node.items) Walk(context, item);
  }
  void Visit(const Context& context, const Comprehension& node) {
    PROGRAM_CHECK(!node.clauses.empty(), "a comprehension without clauses");
    for (const Comprehension::Clause& clause : node.clauses) {
      UsePattern(context, clause.pattern, clause.tuple_pattern);
      Walk(context, clause.list);
      OptionalExpr(context, clause.condition);
    }
    Walk(context, node.element);
  }
  void Visit(const Context& context, const If& node) {
    Walk(context, node.condition);
    Walk(context, node.then_value);
    Walk(context, node.else_value);
  }
  void Visit(const Context& context, const Cast& node) {
    Walk(context, node.type);
    Walk(context, node.operand);
  }
  void Visit(const Context& context, const CallOp& node) {
    PROGRAM_CHECK(program_.ops.Contains(node.op), node.op.str());
    OptionalType(context, node.type_argument);
    Walk(context, node.arguments);
  }
  void Visit(const Context& context, const CallFn& node) {
    PROGRAM_CHECK(program_.fns.Contains(node.fn), node.fn.str());
    Walk(context, node.arguments);
  }
  void Visit(const Context& context, const CallGraph& node) {
    PROGRAM_CHECK(program_.graphs.Contains(node.graph), node.graph.str());
    Walk(context, node.arguments);
  }
  void Visit(const Context& context, const CallBuiltin& node) { Walk(context, node.arguments); }
  void Visit(const Context& context, const CallCollective& node) {
    const CollectiveTraits& traits = TraitsOf(node.kind);
    PROGRAM_CHECK(node.reduction.has_value() == traits.reduces, "a reduction out of place");
    PROGRAM_CHECK(node.places.valid() == (traits.from != CollectiveTraits::kEach),
                  "a collective over places, or one without");
    if (traits.from != CollectiveTraits::kNobody) Walk(context, node.values);
    if (node.root.valid()) Walk(context, node.root);
    if (node.places.valid()) Walk(context, node.places);
    const bool moves = traits.divides() || traits.joins();
    PROGRAM_CHECK(moves || !node.dim.valid(), "a dimension of a collective that keeps them");
    PROGRAM_CHECK(node.split_dim.valid() == node.concat_dim.valid(), "one of two dimensions");
    OptionalExpr(context, node.dim);
    OptionalExpr(context, node.split_dim);
    OptionalExpr(context, node.concat_dim);
  }
  void Visit(const Context& context, const CallMethod& node) {
    PROGRAM_CHECK(!node.name.empty(), "a call of a method without a name");
    Walk(context, node.receiver);
    Walk(context, node.arguments);
  }
  void Visit(const Context& context, const Via& node) {
    Walk(context, node.base);
    UseRoute(node.route);
  }
  void Visit(const Context& context, const On& node) {
    Walk(context, node.base);
    Walk(context, node.where);
  }

  void Visit(const Context& context, const After& node) {
    Walk(context, node.base);
    Walk(context, node.done);
  }

  // ---- ids of a body ----

  void UseRoute(const std::optional<Route>& route) {
    if (!route || !route->declared.valid()) return;
    PROGRAM_CHECK(program_.transports.Contains(route->declared), route->declared.str());
  }

  void UseLocal(const Context& context, LocalId id) {
    PROGRAM_CHECK(context.locals && context.locals->Contains(id), id.str());
  }
  void UsePattern(const Context& context, const std::vector<LocalId>& pattern, bool tuple) {
    PROGRAM_CHECK(tuple || pattern.size() == 1, "a pattern without names");
    for (LocalId id : pattern) UseLocal(context, id);
  }
  void UseState(const Context& context, StateId id) {
    PROGRAM_CHECK(program_.states.Contains(id), id.str());
    const bool is_slot =
        context.slots != nullptr && std::find(context.slots->begin(), context.slots->end(), id) !=
                                        context.slots->end();
    PROGRAM_CHECK(is_slot || (context.actor.valid() && program_.states[id].actor == context.actor),
                  program_.states[id].name + " is not a state of the method's actor");
  }
  void UseDim(const Context& context, DimVariableId id) {
    PROGRAM_CHECK(context.signature && context.signature->dim_variables.Contains(id), id.str());
  }
  void UseGeneric(const Context& context, GenericId id) {
    PROGRAM_CHECK(context.signature && context.signature->generics.Contains(id), id.str());
  }

  const Program& program_;
  std::vector<bool> seen_exprs_, seen_statements_, seen_types_;
};

#undef PROGRAM_CHECK

}  // namespace

void Validate(const Program& program) { Validator(program).Run(); }

}  // namespace cgraph
