// What bodies are made of: types, expressions and statements, with every name resolved. A name is
// the id of what it refers to; types may mention dimension variables and generic dtypes, which
// elaboration binds for each call.
#ifndef CGRAPH_COMPILER_PROGRAM_BODY_H_
#define CGRAPH_COMPILER_PROGRAM_BODY_H_

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/base/ids.h"
#include "compiler/base/operators.h"
#include "compiler/base/source.h"
#include "compiler/base/transport.h"
#include "runtime/base/kinds/collective.h"
#include "runtime/base/kinds/dtype.h"
#include "runtime/base/kinds/logical_device.h"

namespace cgraph::program {

CGRAPH_ID(ExprId, "expr")
CGRAPH_ID(StatementId, "statement")
CGRAPH_ID(TypeId, "type")
CGRAPH_ID(LocalId, "local")        // a parameter, let, var, loop variable: of one Body
CGRAPH_ID(DimVariableId, "dim")    // of one Signature
CGRAPH_ID(GenericId, "generic")    // of one Signature
CGRAPH_ID(ConstId, "const")
CGRAPH_ID(NamedTypeId, "type")
CGRAPH_ID(TransportId, "transport")
CGRAPH_ID(OpId, "op")
CGRAPH_ID(FnId, "fn")
CGRAPH_ID(ActorId, "actor")
CGRAPH_ID(OptimizerId, "optimizer")
CGRAPH_ID(StateId, "state")
CGRAPH_ID(MethodId, "method")
CGRAPH_ID(PlaceId, "place")
CGRAPH_ID(GraphId, "graph")
CGRAPH_ID(ScheduleId, "schedule")
CGRAPH_ID(KindId, "kind")          // of one Schedule
CGRAPH_ID(TopologyId, "topology")

// ---- types --------------------------------------------------------------------------------------

struct Dim {
  enum Kind : uint8_t {
    kExpr,      // an integer expression over consts, parameters and dimension variables
    kVariable,  // a dimension variable: bound by unification (in a result: what it was bound to)
    kBounded,   // `variable <= expr`; without a variable, `extent <= expr` with an i64 value
    kRun,       // `*s`: a run of dimensions, bound as a whole; or a function of runs (`expr`)
    kEach,      // `each n`: of a list's elements, which the run `variable` collects
  };
  Kind kind = kExpr;
  DimVariableId variable;  // kVariable, kBounded, kEach, kRun (when it is a plain `*s`)
  ExprId extent;           // kBounded without a variable: an i64 parameter, the extent's value
  ExprId expr;             // kExpr: the integer; kBounded: the bound; kRun: broadcast(s, t), ...
  Range range;
};

struct TensorType {
  std::optional<DType> dtype;  // else `generic`
  GenericId generic;
  std::vector<Dim> dims;
};
// CompileTimeKind: kinds of values that exist only while compiling.
enum class CompileTimeKind : uint8_t { kInt, kFloat, kBool, kStr };
const char* Spelling(CompileTimeKind kind);
struct CompileTimeType {
  CompileTimeKind kind;
};
struct ListType {
  TypeId element;
  ExprId length;
};
struct TupleType {
  struct Field {
    std::string name;  // empty: by position only
    TypeId type;
  };
  std::vector<Field> fields;
};
struct Type {
  std::variant<TensorType, CompileTimeType, ListType, TupleType> node;
  Range range;
  std::string name = {};  // that of a type which a file declares, as written: "Layer(64)"
};

enum class DTypeBound : uint8_t { kAny, kNumber, kFloat, kInt };
const char* Spelling(DTypeBound bound);
// Returns whether values of `dtype` are multiplied by weights of this dtype as they are: their own,
// or f16 and bf16 for f32.
bool MayWeigh(DType weights, DType dtype);
struct Generic {
  std::string name;
  DTypeBound bound = DTypeBound::kAny;
  GenericId of = {};  // `W: T`: the dtype of this earlier variable, or a narrower one of weights
};
struct DimVariable {
  std::string name;
  bool run = false;
  Range range;  // where it first occurs
};

// ---- expressions --------------------------------------------------------------------------------

// Route: the operand of `via`: a transport, or one that a file declares.
struct Route {
  TransportKind transport = TransportKind::kAuto;
  TransportId declared;  // may be invalid
  Range range;
};

// Builtin: functions that are part of the language rather than of the library.
enum class Builtin : uint8_t {
  kZip,
  kItems,       // items(weights): pairs of a field's name and the field
  kLen,
  kGrad,        // grad(loss, of: stage, from: gy): the label says which argument it is
  kUpdateAll,   // update_all(places, gradients, rate: r)
  kGlobalNorm,  // global_norm(gradients)
  kAssert,
  // of dimensions, in signatures and costs only
  kBroadcast, kDrop, kInsert, kPermuted, kInferred, kSize, kRank, kTotal, kWidth,
  kBounded,  // whether an extent is known only while running
};
const char* Spelling(Builtin builtin);

struct Argument {
  std::string label;  // empty: positional
  ExprId value;
  Range range;
  int parameter = -1;  // of the callee; -1: it is known only when the call is evaluated
};

struct IntLiteral { int64_t value; };
struct FloatLiteral { double value; };
struct BoolLiteral { bool value; };
struct StringLiteral {  // texts.size() == exprs.size() + 1
  std::vector<std::string> texts;
  std::vector<ExprId> exprs;
};
struct NoneLiteral {};  // a list element that is not yet assigned
struct LocalRef { LocalId local; };
struct StateRef { StateId state; };
struct ConstRef { ConstId constant; };
struct PlaceRef { PlaceId place; };
struct DimRef { DimVariableId variable; };   // the extent of a dimension, as a number
struct GenericRef { GenericId generic; };    // only as an argument of width()
struct DeviceRef {  // cpu[i], gpu[i], node[j].gpu[i]
  DeviceKind kind;  // not the caller
  ExprId node;   // may be invalid: node 0
  ExprId index;
};
struct Unary {
  bool is_not;
  ExprId operand;
};
struct Chain {  // folded from the left
  std::vector<ExprId> operands;
  std::vector<BinaryOperator> operators;
  std::vector<Range> operator_ranges;
};
struct Field {
  ExprId base;
  std::string name;
  Range name_range;
};
struct Index {
  ExprId base;
  std::vector<ExprId> subscripts;  // an invalid id is `:`
};
struct Tuple { std::vector<Argument> fields; };
struct List { std::vector<ExprId> items; };
struct Comprehension {
  struct Clause {
    std::vector<LocalId> pattern;  // one local, or several for a tuple pattern
    bool tuple_pattern = false;
    ExprId list;
    ExprId condition;  // may be invalid
  };
  ExprId element;
  std::vector<Clause> clauses;
  bool makes_tuple = false;  // else a list
};
struct If { ExprId condition, then_value, else_value; };
struct Cast {
  TypeId type;
  ExprId operand;
};
struct CallOp {
  OpId op;
  TypeId type_argument;  // zeros<f32[4]>(); may be invalid
  std::vector<Argument> arguments;
};
struct CallFn {
  FnId fn;
  std::vector<Argument> arguments;
};
struct CallGraph {
  GraphId graph;
  std::vector<Argument> arguments;
};
struct CallBuiltin {
  Builtin builtin;
  std::vector<Argument> arguments;
};
struct CallCollective {
  CollectiveKind kind;
  std::optional<Reduction> reduction;
  ExprId values;  // a list, one value per participant; of broadcast and scatter one value
  ExprId root;    // of reduce and gather; may be invalid: 0
  ExprId places;  // of broadcast, scatter and barrier
  // The dimensions that are divided and put together; invalid: dimension 0.
  ExprId dim;                    // for both
  ExprId split_dim, concat_dim;  // of all_to_all
};
// CallMethod: the receiver is a place, known when it is evaluated; `name` is looked up in its actor
// then. Check has already looked it up where it could tell the actor.
struct CallMethod {
  ExprId receiver;
  std::string name;
  Range name_range;
  std::vector<Argument> arguments;
};
struct Via {
  ExprId base;
  Route route;
};
struct On {
  ExprId base;
  ExprId where;  // a place or a device
};
struct After {  // every call in `base` starts when those that made `done` have ended
  ExprId base;
  ExprId done;
};

struct Expr {
  std::variant<IntLiteral, FloatLiteral, BoolLiteral, StringLiteral, NoneLiteral, LocalRef,
               StateRef, ConstRef, PlaceRef, DimRef, GenericRef, DeviceRef, Unary, Chain, Field,
               Index, Tuple, List, Comprehension, If, Cast, CallOp, CallFn, CallGraph, CallBuiltin,
               CallCollective, CallMethod, Via, On, After>
      node;
  Range range;
};

// ---- statements ---------------------------------------------------------------------------------

struct Bind {  // let and var
  std::vector<LocalId> pattern;
  bool tuple_pattern = false;
  bool is_var = false;
  TypeId type;                      // may be invalid
  std::optional<Route> via;         // of a let
  ExprId value;
};
struct For {
  std::vector<LocalId> pattern;
  bool tuple_pattern = false;
  ExprId list;
  std::vector<StatementId> body;
};
struct IfStatement {
  ExprId condition;
  std::vector<StatementId> then_body, else_body;
};
struct Return {
  ExprId value;
  bool yields = false;  // a row of what a graph that repeats gives
};
struct Repeat {  // the last statement of a graph: repeat until done limit most <= 256 { ... }
  ExprId condition;
  bool asks_first = false;  // the condition names nothing of the body: it is asked before, too
  ExprId limit;             // an int: the bound, where `most` is the input that has the limit
  LocalId most;             // may be invalid
  std::vector<StatementId> body;
  // Names that stand before the statement: those that the body or the condition reads; of these,
  // the `var`s that the body assigns to, which go on from round to round.
  std::vector<LocalId> reads, writes;
};
struct Assign {         // v = e, v[i].up = e, state = e, state += e
  struct Part {         // [i], or .up
    ExprId subscript;   // invalid: a field
    std::string field;  // by name
    Range range;        // of the subscript, or of the name
  };
  LocalId local;  // either a var
  StateId state;  // or a state of the method's actor
  std::vector<Part> parts;  // from outside in: v[i].up has two; none: the whole is assigned
  std::optional<BinaryOperator> compound;
  ExprId value;
};
struct Evaluate { ExprId call; };
struct Statement {
  std::variant<Bind, For, IfStatement, Return, Repeat, Assign, Evaluate> node;
  Range range;
};

}  // namespace cgraph::program

#endif  // CGRAPH_COMPILER_PROGRAM_BODY_H_
