// Syntax: the text as it was written, one tree per file, in tables of our own.
//
// Nothing is resolved here: names are text, types are as they stand. Operator chains are flat (`a +
// b - c` is one node), so a tree is never deeper than the nesting that a person wrote and that the
// parser limits. Every node has the range it was parsed from.
#ifndef CGRAPH_COMPILER_SYNTAX_SYNTAX_H_
#define CGRAPH_COMPILER_SYNTAX_SYNTAX_H_

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/base/ids.h"
#include "compiler/base/operators.h"
#include "compiler/base/source.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/base/kinds/dtype.h"

namespace cgraph::syntax {

CGRAPH_ID(ExprId, "expr")
CGRAPH_ID(TypeId, "type")
CGRAPH_ID(StatementId, "statement")

// A name as it stands in the text.
struct Name {
  std::string text;
  Range range;
};

// ---- types --------------------------------------------------------------------------------------

// One dimension: `4096`, `n`, `h / T`, `n <= 4096` (an expr with the operator <=), the run `*s`, or
// `each n`, which differs from element to element of a list.
struct Dim {
  ExprId expr;
  bool run = false;
  bool each = false;
};
struct TensorType {  // f32, f32[], f32[2, 3]
  DType dtype;
  std::vector<Dim> dims;
  bool has_dims = false;  // brackets were written: as a parameter, `bool` and `bool[]` differ
};
struct Argument {
  std::optional<Name> label;
  ExprId value;
};
// T[*s] in signatures, a compile-time kind (int, str), a type that a file declares: Layer(64),
// model.Layer(64); never an actor.
struct NamedType {
  std::optional<Name> qualifier;  // an imported file
  Name name;
  std::vector<Dim> dims;
  bool has_dims = false;
  std::vector<Argument> arguments;
  bool has_arguments = false;  // parentheses were written
};
struct ListType {  // [T; 4]
  TypeId element;
  ExprId length;
};
struct TupleType {  // (T, U), (scores: T, label: U), ()
  struct Field {
    std::optional<Name> name;
    TypeId type;
  };
  std::vector<Field> fields;
};
struct BytesType {  // bytes[<= N]
  ExprId bound;
};
struct Type {
  std::variant<TensorType, NamedType, ListType, TupleType, BytesType> node;
  Range range;
};

// ---- expressions --------------------------------------------------------------------------------

struct IntLiteral {
  int64_t value;
};
struct FloatLiteral {
  double value;
};
struct QuantityLiteral {  // 5s, 40GiB: the number, and the unit as written
  double value;
  std::string unit;
};
struct BoolLiteral {
  bool value;
};
// "fc{i}.weight": text and expressions alternate: texts.size() == exprs.size() + 1.
struct StringLiteral {
  std::vector<std::string> texts;
  std::vector<ExprId> exprs;
};
struct NameExpr {  // also `none`, `int`-like words where an expression stands
  std::string name;
};
struct Unary {
  bool is_not = false;  // else minus
  ExprId operand;
};
// operands[0] operators[0] operands[1] ..., all of one binding strength, folded from the left.
struct Chain {
  std::vector<ExprId> operands;
  std::vector<BinaryOperator> operators;
  std::vector<Range> operator_ranges;
};
struct CallExpr {  // callee(arguments), callee<f32[4]>(arguments)
  ExprId callee;
  TypeId type_argument;  // may be invalid
  std::vector<Argument> arguments;
};
struct FieldExpr {  // base.name
  ExprId base;
  Name name;
};
struct IndexExpr {  // base[subscripts]; an invalid id is `:`; a..b is a Chain with kRange
  ExprId base;
  std::vector<ExprId> subscripts;
};
struct CastExpr {  // cast<f16>(x)
  TypeId type;
  std::vector<Argument> arguments;
};
struct TupleExpr {  // (a, b), (only: a), (); `(a)` is no tuple: it is its inner expression
  std::vector<Argument> fields;
};
struct ListExpr {
  std::vector<ExprId> items;
};
struct Comprehension {  // [element for pattern in list if condition ...], or in parentheses
  struct Clause {
    std::vector<Name> pattern;
    bool tuple_pattern = false;
    ExprId list;
    ExprId condition;  // may be invalid
  };
  ExprId element;
  std::vector<Clause> clauses;
  bool makes_tuple = false;  // in parentheses
};
struct IfExpr {
  ExprId condition, then_value, else_value;
};
struct Modified {  // base via T / on D / after x
  enum Kind : uint8_t { kVia, kOn, kAfter };
  ExprId base;
  Kind kind;
  ExprId argument;
};

struct Expr {
  std::variant<IntLiteral, FloatLiteral, QuantityLiteral, BoolLiteral, StringLiteral, NameExpr,
               Unary, Chain, CallExpr, FieldExpr, IndexExpr, CastExpr, TupleExpr, ListExpr,
               Comprehension, IfExpr, Modified>
      node;
  Range range;
};

// ---- statements ---------------------------------------------------------------------------------

struct Pattern {  // x, (x, y)
  std::vector<Name> names;
  bool tuple = false;
  Range range;
};
struct Let {
  Pattern pattern;
  TypeId type;  // may be invalid
  ExprId via;   // may be invalid
  ExprId value;
};
struct Var {
  Pattern pattern;
  TypeId type;  // may be invalid
  ExprId value;
};
struct For {
  Pattern pattern;
  ExprId list;
  std::vector<StatementId> body;
};
struct If {
  ExprId condition;
  std::vector<StatementId> then_body, else_body;
};
struct Return {
  ExprId value;
  bool yields = false;  // `yield e`: a row of what a graph that repeats gives
};
struct Repeat {  // repeat until done limit most <= 256 { ... }
  ExprId condition, limit;
  std::vector<StatementId> body;
};
struct Assign {  // target = value, target += value; the target is a name with postfixes
  ExprId target;
  std::optional<BinaryOperator> compound;
  ExprId value;
};
struct Evaluate {  // a call for its effects
  ExprId call;
};
struct Statement {
  std::variant<Let, Var, For, If, Return, Repeat, Assign, Evaluate> node;
  Range range;
};

// ---- declarations -------------------------------------------------------------------------------

struct Parameter {
  Name name;
  TypeId type;
  ExprId default_value;  // may be invalid
};
struct Generic {  // T: float
  Name name;
  std::optional<Name> bound;
};
struct Result {
  TypeId type;  // invalid: nothing
  ExprId via;   // may be invalid
};

struct ImportDecl {
  std::vector<Name> path;
  std::optional<Name> alias;
};
struct ConstDecl {
  Name name;
  TypeId type;  // may be invalid
  ExprId value;
};
struct TypeDecl {  // type Layer(d: int) = (up: f32[d, d], bias: f32[d])
  Name name;
  std::vector<Parameter> parameters;
  TypeId type;
};
struct TransportDecl {  // transport fast = nccl(protocol: "LL")
  Name name;
  Name base;
  std::vector<Argument> arguments;
};
// grad y, gy (x: gy * y), grad gy { ... return (x: ...) }: names of the results and of their
// gradients (the last name), then the gradients of parameters, by label or as the body's result.
struct Gradient {
  std::vector<Name> names;
  std::vector<Argument> arguments;
  std::vector<StatementId> body;
  bool has_body = false;
  Range range;
};
struct FnDecl {
  Name name;
  std::vector<Generic> generics;
  std::vector<Parameter> parameters;
  Result result;
  ExprId deprecated;           // what is written instead; may be invalid
  std::optional<Gradient> gradient;
  std::vector<StatementId> body;
};
struct OpDecl {
  Name name;
  std::vector<Generic> generics;
  std::vector<Parameter> parameters;
  Result result;
  ExprId where;                // may be invalid
  std::vector<Argument> cost;  // flops:, bytes:
  std::string kernel;          // empty: none given
  std::vector<Name> takes;     // the parameters that the kernel is given; empty: all
  std::optional<Name> effect;
  std::optional<Name> inplace;
  bool fails = false;
  std::optional<Range> elementwise;
  ExprId deprecated;           // what is written instead; may be invalid
  std::optional<Gradient> gradient;
};
struct StateDecl {  // state w: f32 = 0, param w: f32 = 0 equal along t
  Name name;
  bool is_param = false;
  std::vector<Name> along;
  TypeId type;
  ExprId value;
  Range range;
};
// = extern "libmine.so:f" reads w writes v keyed by (mb) cost(flops: 2 * n, bytes: 8 * n)
struct ExternBody {
  std::string library, symbol;
  // States, or `object`; no states given: all of the actor's.
  std::optional<std::vector<Name>> reads, writes, adds;
  ExprId keys;                                     // keyed by; may be invalid
  std::vector<Argument> cost;                      // flops:, bytes:
  Range range;                                     // of the string
};
struct MethodDecl {
  Name name;
  std::vector<Parameter> parameters;
  Result result;
  std::vector<StatementId> body;
  std::optional<ExternBody> native;  // instead of `body`
  std::optional<Name> gradient_by;   // grad by m, grad by auto
  Range range;
};
struct ActorDecl {
  Name name;
  std::vector<Parameter> parameters;
  std::vector<StateDecl> states;
  std::vector<MethodDecl> methods;
};
struct OptimizerDecl {  // of one tensor; its states are slots
  Name name;
  std::vector<Generic> generics;
  std::vector<Parameter> parameters;
  std::vector<StateDecl> states;
  std::vector<MethodDecl> methods;
};
struct Index {  // i in 0..8
  Name name;
  ExprId range;
};
struct PlaceDecl {
  Name name;
  std::vector<Index> indices;
  ExprId actor;   // a call: Stage(i)
  ExprId device;  // gpu[i]
  std::vector<Name> along;  // equal along d: all params
  ExprId trained_by;        // a call: adamw(decay: 0.1); may be invalid
};
// The rules of a schedule.
struct Prefer {  // prefer A > B > C
  std::vector<Name> kinds;
};
struct SortBy {  // prefer K by (...), order K by (...), L by (...)
  struct Sorting {
    Name kind;
    ExprId keys;  // a tuple, or one key
  };
  bool strict;
  std::vector<Sorting> sortings;  // of `prefer` one
};
struct Limit {  // limit A - B <= e if condition
  ExprId inequality;
  ExprId condition;  // invalid: of all calls
};
struct FuseRule {  // fuse A B
  Name first, second;
};
struct MemoryRule {  // memory <= 40GiB
  ExprId bytes;
};
struct Rule {
  std::variant<Prefer, SortBy, Limit, FuseRule, MemoryRule> node;
  Range range;
};
struct ScheduleDecl {
  Name name;
  std::vector<Parameter> parameters;
  std::vector<Rule> rules;
};

struct Using {  // using one_f_one_b(P) with (mb = m)
  struct Renaming {
    Name name;
    ExprId value;
  };
  std::vector<Name> path;  // one name, or that of a file and one of its schedules
  std::vector<Argument> arguments;
  std::vector<Renaming> renamings;
  Range range;
};
struct Attribute {  // inflight 4, overlap off, timeout 5s, recompute f, g if p < 2
  Name name;
  ExprId value;
  std::vector<Name> more;  // behind commas
  ExprId condition;        // may be invalid
};
struct GraphDecl {
  Name name;
  std::vector<Parameter> parameters;
  Result result;
  std::vector<Attribute> attributes;
  std::vector<Using> usings;  // at most one is right
  std::vector<StatementId> body;
};
// The parts of a topology, each of which may be many, by its indices.
struct DevicePart {  // device gpu[i] [i in 0..8] { ... }
  ExprId device;
};
struct ResourcePart {  // resource root[i in 0..4] { ... }
  Name name;
};
struct LinkPart {  // link gpu[i] -> gpu[j] [i in 0..8, j in 0..8] if linked(i, j) { ... }
  ExprId from, to;
  ExprId condition;  // may be invalid
};
struct Property {  // bandwidth: 12GB/s
  Name name;
  ExprId value;
};
struct TopologyPart {
  std::variant<DevicePart, ResourcePart, LinkPart> node;
  std::vector<Index> indices;
  Range indices_range;        // of their brackets; invalid: none
  std::vector<Property> properties;
  Range properties_range;     // of their braces
  Range range;
};
struct TopologyDecl {
  Name name;
  std::vector<Parameter> parameters;
  std::vector<TopologyPart> parts;
};

struct Item {
  std::variant<ImportDecl, ConstDecl, TypeDecl, TransportDecl, FnDecl, OpDecl, ActorDecl,
               OptimizerDecl, PlaceDecl, GraphDecl, ScheduleDecl, TopologyDecl>
      node;
  Range range;
};

// One parsed file.
struct File {
  SourceId source;
  std::vector<Item> items;
  Table<ExprId, Expr> exprs;
  Table<TypeId, Type> types;
  Table<StatementId, Statement> statements;
};

}  // namespace cgraph::syntax

namespace cgraph {

// The tree as indented text, one node per line: what `--emit syntax` shows.
void Print(const syntax::File& file, llvm::raw_ostream& out);

// CHECKs what Parse promises: ids in range, no node reached twice, ranges inside the source and
// nested in their parents', chains of one strength. Aborts with the phase's name on a bug of ours.
void Validate(const syntax::File& file);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_SYNTAX_SYNTAX_H_
