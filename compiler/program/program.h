// Program: the meaning of the files, with every name resolved.
//
// Declarations are in tables; bodies are trees of our own (`Expr`, `Statement`) in which a name is
// the id of what it refers to. Constants, parameters of actors and loop bounds are still
// expressions: elaboration evaluates them, with the values of one compilation. Types may mention
// dimension variables and generic dtypes; elaboration binds them per call.
#ifndef CGRAPH_COMPILER_PROGRAM_PROGRAM_H_
#define CGRAPH_COMPILER_PROGRAM_PROGRAM_H_

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/base/ids.h"
#include "compiler/base/operators.h"
#include "compiler/base/source.h"
#include "compiler/base/topology_property.h"
#include "compiler/base/transport.h"
#include "compiler/program/body.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/base/kinds/collective.h"
#include "runtime/base/kinds/dtype.h"
#include "runtime/base/kinds/logical_device.h"

namespace cgraph::program {

// ---- declarations -------------------------------------------------------------------------------

struct Local {
  std::string name;
  bool is_var = false;
  Range range;
};
// Whether a parameter of an op or fn names dimensions of its first tensor; an op counts those below
// 0 from the end.
enum class AxisRole : uint8_t { kNone, kAxis, kAxes };
struct Parameter {
  std::string name;
  LocalId local;
  TypeId type;
  ExprId default_value;  // may be invalid
  Range range;
  AxisRole axis = AxisRole::kNone;
};
// Signature: what callers see of an op, fn, method or graph.
struct Signature {
  Table<GenericId, Generic> generics;
  Table<DimVariableId, DimVariable> dim_variables;
  std::vector<Parameter> parameters;
  TypeId result;                    // invalid: nothing
  std::optional<Route> via;         // of the result
};
// Body: the locals of a method include its actor's parameters (the first ones); those of a state
// initialiser too.
struct Body {
  Table<LocalId, Local> locals;
  std::vector<StatementId> statements;
};

struct Const {
  std::string name;
  TypeId type;  // may be invalid
  ExprId value;
  Table<LocalId, Local> locals;  // of comprehensions in the value
  // The NAME of -D NAME=VALUE that replaces the value, of several the one that is used; or empty.
  std::string option;
  Range range;
};
// type Layer(d: int) = (up: f32[d, d], bias: f32[d]): what uses of the name stand for, over its own
// parameters. A use has a type of its own, with its arguments in it.
struct NamedType {
  std::string name;
  std::vector<Parameter> parameters;  // ints
  Table<LocalId, Local> locals;       // the parameters, then what comprehensions bind
  TypeId type;
  Range range;
  std::string option;                 // of a name for a dtype: as that of a const; else empty
  std::optional<DType> chosen;        // by -D
};
// import dense as weights, in the named file; -D weights=q4_1 names another module.
// Several imports may have one alias.
struct Alias {
  struct Import {
    std::string module;  // as it is written: "dense"
    Range range;         // of the alias
  };
  std::string name;
  std::vector<Import> imports;    // of each module one; of more than two modules the first two
  std::string chosen;             // the module that -D names; empty: none
  std::vector<SourceId> sources;  // files that the alias stands for
};
// transport fast = shm(capacity: 4)
struct NamedTransport {
  std::string name;
  TransportKind base = TransportKind::kAuto;
  std::vector<Argument> options;  // by name, each known at compile time
  Table<LocalId, Local> locals;   // of comprehensions in the options
  Range range;
};
// Gradient: what an op, or a fn whose body is then not looked into, says of its gradients, in the
// frame of its own parameters. `of` are the parameters that have one, each with its value, or with
// none where the body returns all of them as a tuple by their names.
struct Gradient {
  LocalId y, gy;  // the results and their gradients, where the rule names them
  std::vector<Argument> of;
  std::vector<StatementId> body;  // before `of` is evaluated
  Range range;
};
// NumberFunction: an op of std.tensor that is a function of compile-time numbers, too.
enum class NumberFunction : uint8_t { kSquareRoot, kExp, kLog, kPow, kMinimum, kMaximum };
struct Op {
  std::string name;
  Signature signature;
  Table<LocalId, Local> locals;  // its parameters, then what comprehensions bind
  ExprId where;                  // may be invalid
  ExprId flops, bytes;           // may be invalid
  std::string kernel;
  std::optional<NumberFunction> on_numbers;
  std::vector<int> takes;        // the parameters that the kernel is given, in order; empty: all
  std::string effect;            // empty: none
  int inplace = -1;              // index of the parameter that may be overwritten
  bool elementwise = false;      // element i of the result is made of elements i of the operands
  bool fails = false;
  ExprId deprecated;             // what is written instead; may be invalid
  std::optional<Gradient> gradient;
  Range range;
};
struct Fn {
  std::string name;
  Signature signature;
  Body body;
  ExprId deprecated;  // what is written instead; may be invalid
  std::optional<Gradient> gradient;
  Range range;
};
struct State {
  std::string name;
  ActorId actor;  // invalid: a slot of an optimizer
  TypeId type;
  ExprId value;  // over the actor's parameters
  bool is_param = false;
  std::vector<std::string> along;  // indices of places along which the param is a copy
  Range range;
};
// Effect: what a method in native code does to the object of its place.
enum class Effect : uint8_t {
  kUnstated,  // anything, and to what others see, too: its calls keep program order
  kReads,     // it reads the object
  kAdds,      // it adds to the object: such calls may be exchanged with each other
  kKeyed,     // it reads, and keeps or adds something for a key: of one key calls keep their order
  kWrites,    // it may change all of the object
};

// Extern: a method in native code, a function of a library that is named when the plan runs.
struct Extern {
  std::string library, symbol;        // "libmine.so", "f"
  std::vector<StateId> reads, writes; // states that it is given; those in `writes` it may change
  Effect effect = Effect::kUnstated;
  std::vector<ExprId> keys;           // of kKeyed, ints; none: each call has a key of its own
  ExprId flops, bytes;                // may be invalid
  Range range;
};
struct Method {
  std::string name;
  ActorId actor;
  Signature signature;
  Body body;
  std::optional<Extern> native;  // instead of the body's statements
  std::string gradient_by;       // the method that differentiates it; "auto"; empty: none is named
  Range range;
};
struct Actor {
  std::string name;
  std::vector<Parameter> parameters;  // compile-time
  Table<LocalId, Local> locals;       // the parameters, then what state initialisers bind
  std::vector<StateId> states;
  std::vector<MethodId> methods;
  std::map<std::string, MethodId> method_names;  // of those with one name the first
  std::string library;                // of its native methods; empty: it has none
  Range range;
};
struct IndexRange {  // i in a..b
  std::string name;
  LocalId local;
  ExprId range;
};
// Optimizer: the update of one tensor. Its slots and their initial values are resolved in the scope
// of `update`, whose first parameters are the tensor and its gradient.
struct Optimizer {
  std::string name;
  std::vector<Parameter> parameters;  // compile-time
  Table<LocalId, Local> locals;       // the parameters; they are the first locals of `update`, too
  std::vector<StateId> slots;         // one after the other
  Signature signature;                // of `update`, with the optimizer's generics
  Body update;
  Range range;
};
// trained by adamw(decay: 0.1)
struct Trained {
  OptimizerId optimizer;
  std::vector<Argument> arguments;
  Range range;
};
struct Place {
  std::string name;
  std::vector<IndexRange> indices;
  Table<LocalId, Local> locals;  // the indices, then what comprehensions bind
  ActorId actor;
  std::vector<Argument> arguments;
  ExprId device;
  std::vector<std::string> along;  // indices along which all params are copies
  std::optional<Trained> trained;
  Range range;
};

// ---- schedules ----------------------------------------------------------------------------------

// Kind: what a schedule's rules speak of: the calls of a method.
struct Kind {
  std::string name;
  uint32_t rank = 0;  // by `prefer A > B`: the least first
  Range range;        // where it first stands
};
struct SortRule {  // prefer K by (...), or what an `order` says of one kind
  KindId kind;
  std::vector<ExprId> keys;
  std::vector<LocalId> variables;  // that stand in them
  Range range;
};
struct OrderRule {  // order K by (...), L by (...)
  std::vector<SortRule> sorts;
  Range range;
};
struct LimitRule {  // limit A - B <= e, limit A - B >= e; if condition
  KindId minuend, subtrahend;
  bool at_most;
  ExprId bound;
  Range range;
  ExprId condition = {};                 // of the calls that count; invalid: all do
  std::vector<LocalId> variables = {};   // that stand in it
};
struct FuseRule {
  KindId first, second;
  Range range;
};
struct MemoryRule {
  ExprId bytes;
  Range range;
};
struct Schedule {
  std::string name;
  std::vector<Parameter> parameters;
  Table<LocalId, Local> locals;    // the parameters, `index`, what comprehensions bind, variables
  LocalId index;                   // the device's position among those that are covered
  bool uses_index = false;         // in any rule
  std::vector<LocalId> variables;  // of the calls: in keys and conditions only
  Table<KindId, Kind> kinds;
  std::vector<SortRule> rankings;  // of each kind at most one
  std::vector<OrderRule> orders;   // in which each kind stands at most once
  std::vector<LimitRule> limits;
  std::vector<FuseRule> fusions;
  std::optional<MemoryRule> memory;
  Range range;
};
// The variable that counts micro-batches, in schedules and programs that do not say another.
inline constexpr const char* kMicrobatch = "mb";

// using one_f_one_b(P, along: p, per: m) with (chunk = s / P, forward = [attend, Stage.feed])
struct Using {
  ScheduleId schedule;  // invalid: auto, or
  bool reversed = false;  // of the calls that are ready the last in program order first
  std::vector<Argument> arguments;
  std::string along;    // the index of places that is a device's position; empty: it is counted
  struct Method {
    ActorId actor;      // invalid: of any
    std::string name;
    Range range;        // where it is named
  };
  Table<KindId, std::vector<Method>> methods;  // of the schedule's kinds
  struct Variable {
    ExprId value;                   // invalid: the calls' variable of the same name
    std::vector<LocalId> uses;      // the calls' variables that stand in it
  };
  std::vector<Variable> variables;  // of the schedule's
  Variable per;                     // counts micro-batches; invalid: as the rules or the calls say
  Table<LocalId, Local> locals;     // variables of the calls
  Range range;
};

// ---- topologies ---------------------------------------------------------------------------------

// TopologyPart: devices, resources or links: one for each combination of the indices; of links only
// those for which the condition holds.
struct TopologyPart {
  TopologyParts kind;
  std::string name;        // of resources
  ExprId device;           // of devices; of links: from
  ExprId to;               // of links
  std::vector<IndexRange> indices;
  ExprId condition;        // of links; may be invalid
  struct Property {
    TopologyProperty property;
    ExprId value;          // bytes, bytes in a second, picoseconds, operations in a second
    Range range;
  };
  std::vector<Property> properties;  // each once; without `through`
  struct Hop {             // through: root[i / 2]
    size_t resource;       // into the topology's parts
    std::vector<ExprId> indices;
    Range range;
  };
  std::vector<Hop> through;
  Range range;
};
struct Topology {
  std::string name;
  std::vector<Parameter> parameters;
  Table<LocalId, Local> locals;  // the parameters, then each part's indices
  std::vector<TopologyPart> parts;
  Range range;
};
// --topology dgx1v, --topology "pod(4)"
struct TopologyUse {
  TopologyId topology;
  std::vector<Argument> arguments;
  Table<LocalId, Local> locals;  // of comprehensions in the arguments
  Range range;
};

struct Graph {
  std::string name;
  Signature signature;
  Body body;
  std::optional<Using> use;
  ExprId inflight;              // may be invalid: 1
  std::optional<bool> overlap;  // overlap on | off
  uint64_t timeout_ps = 0;      // 0: none
  // recompute f, g if p < 2: methods whose kept values are computed again. The condition is over
  // variables of the calls.
  struct Recompute {
    std::vector<std::string> methods;
    ExprId condition;  // may be invalid
    Table<LocalId, Local> locals;
    std::vector<LocalId> variables;  // of the calls
    Range range;
  };
  std::optional<Recompute> recompute;
  Range range;
};

struct Program {
  SourceId main;  // the file that was named; imported declarations stand in the same tables
  Table<ExprId, Expr> exprs;
  Table<StatementId, Statement> statements;
  Table<TypeId, Type> types;

  Table<ConstId, Const> consts;
  Table<NamedTypeId, NamedType> named_types;
  Table<TransportId, NamedTransport> transports;
  Table<OpId, Op> ops;
  Table<FnId, Fn> fns;
  Table<ActorId, Actor> actors;
  Table<OptimizerId, Optimizer> optimizers;
  Table<StateId, State> states;
  Table<MethodId, Method> methods;
  Table<PlaceId, Place> places;
  Table<GraphId, Graph> graphs;
  Table<ScheduleId, Schedule> schedules;
  Table<TopologyId, Topology> topologies;
  std::optional<TopologyUse> topology;  // that a flag asks for
  std::vector<Alias> aliases;

  // The ops that operators stand for on tensors: `+` is the op that std.tensor declares as `add`.
  // They are always there, whether or not the file imports std.tensor.
  std::map<BinaryOperator, OpId> operator_ops;
  OpId negate_op, not_op, cast_op, stack_op, copy_op;
  OpId permute_op;  // what collectives over another dimension than the first are made with
  // What gradients are put together with, where the program asks for one; else invalid.
  bool has_gradients = false;
  OpId zeros_op, ones_op, sum_to_op, shaped_op, update_op, sqrt_op;
};

// Finds the method of an actor by name; invalid when there is none.
MethodId FindMethod(const Program& program, ActorId actor, const std::string& name);

// The method that `trained by` gives a place.
inline constexpr char kUpdateMethod[] = "update";

// Returns whether some place of an actor is trained.
bool IsTrained(const Program& program, ActorId actor);

}  // namespace cgraph::program

namespace cgraph {

// What `--emit program` shows: the declarations of the named file and the ops that they use.
void Print(const program::Program& program, llvm::raw_ostream& out);

// "f32[n <= B, 64]", for dumps and messages; `signature` names dimension variables and generics.
std::string TypeText(const program::Program& program, const program::Signature& signature,
                     program::TypeId type);

// CHECKs what Check promises: every id in range and of its own body, every call's target there.
void Validate(const program::Program& program);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_PROGRAM_PROGRAM_H_
