// Resolver: one declaration's types, expressions and statements, from Syntax to Program.
//
// It lives from the declaration's signature to its body and knows the names in between: parameters,
// `let`s, dimension variables, the states of the method's actor, then the names of the file. What
// is wrong is reported once and becomes a poison value (`none` of unknown type), which is accepted
// everywhere. No local name may hide another of the same body: a second `let h` in a loop would
// look like an assignment and be none.
#ifndef CGRAPH_COMPILER_CHECK_RESOLVER_H_
#define CGRAPH_COMPILER_CHECK_RESOLVER_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/check/checker.h"
#include "compiler/check/match.h"
#include "compiler/check/static_type.h"

namespace cgraph::check {

// Where an expression stands: this decides what it may do.
enum class Site : uint8_t { kConst, kOp, kActor, kPlace, kFn, kMethod, kGraph };

// What a type is written for: this decides which names its dimensions may bring.
enum class TypeRole : uint8_t { kParameter, kResult, kState, kHint, kArgument, kConst };

struct Value {
  program::ExprId id;
  Static type;
};

class Resolver {
 public:
  // `signature` may be null: then there are no dimension variables. Both pointers are into the
  // Program's tables, whose rows stay where they are once everything is declared.
  Resolver(Checker& checker, const Module& module, Site site, program::Signature* signature,
           Table<program::LocalId, program::Local>* locals)
      : checker_(checker),
        program_(checker.program),
        module_(module),
        site_(site),
        signature_(signature),
        locals_(locals) {}

  // ---- signatures (resolve_signature.cpp) ----
  void InheritActor(program::ActorId actor);  // its parameters come first, its states are in scope
  void ResolveGenerics(const std::vector<syntax::Generic>& generics);
  std::vector<program::Parameter> ResolveParameters(
      const std::vector<syntax::Parameter>& parameters);
  void ResolveResult(const syntax::Result& result);
  void ResolveDefaults(const std::vector<syntax::Parameter>& written,
                       std::vector<program::Parameter>& parameters);

  // ---- types (resolve_type.cpp) ----
  program::TypeId ResolveType(syntax::TypeId id, TypeRole role);

  // ---- expressions ----
  Value Resolve(syntax::ExprId id);       // also what has no value: a call without a result
  Value ResolveValue(syntax::ExprId id);  // a value, or poison
  // A value that is known at compile time: no tensor. `what` names the place of it, for messages.
  Value ResolveCompileTime(syntax::ExprId id, const char* what);
  Value ResolveInt(syntax::ExprId id, const char* what);
  Value ResolveCondition(syntax::ExprId id);

  // ---- statements (resolve_statement.cpp) ----
  std::vector<program::StatementId> ResolveBody(const std::vector<syntax::StatementId>& statements,
                                                const syntax::Name& name);

  // ---- other declarations ----
  program::LocalId DeclareLocal(const syntax::Name& name, Static type, bool is_var);
  // Arguments of `place x = Actor(arguments)`; checks them against the actor's parameters.
  std::vector<program::Argument> ResolveActorArguments(
      const std::vector<syntax::Argument>& arguments, program::ActorId actor, Range call);
  std::optional<program::ActorId> ResolveActorName(syntax::ExprId callee);
  // Whether the range is a list of ints, as the index of a place array must be.
  program::ExprId ResolveIndexRange(syntax::ExprId id);

  // While set, only locals made from now on are visible: a default or an attribute stands outside.
  void HideLocals(bool hide) { hidden_below_ = hide ? locals_->size() : 0; }
  void set_const(program::ConstId id) { const_ = id; }
  bool IsUsed(program::LocalId id) const { return used_.count(id) != 0; }

  // A value of a type that is written in this declaration.
  Static Declared(program::TypeId type) const;

  // "declared as `f32[n, 64]`, and this is an i64[?]" unless `given` fits the declared type.
  void ExpectType(program::TypeId type, const Static& given, Range at, const std::string& what,
                  Range declared);

 private:
  // What is called: for arity, labels and types of arguments, and for messages.
  struct Callee {
    std::string what;  // "method `hidden`"
    const std::vector<program::Parameter>* parameters;
    const program::Signature* signature;  // null: an actor's parameters
    const Table<program::LocalId, program::Local>* locals;  // in the types of the parameters
    Range declared;
  };
  struct Arguments {
    std::vector<program::Argument> arguments;
    std::vector<Static> types;
  };

  // ---- names (resolve_name.cpp) ----
  Value ResolveName(const std::string& name, Range range);
  std::optional<Value> ResolveOwnName(const std::string& name, Range range);
  std::optional<Value> ResolveDimName(const std::string& name, Range range);
  Value ResolveSymbol(const Symbol& symbol, const std::string& name, Range range);
  Value ReportUnknownName(const std::string& name, Range range, const char* mend = "");
  bool IsOwnName(const std::string& name) const;
  std::optional<Range> DeclaredLater(const std::vector<syntax::StatementId>& ids,
                                     const std::string& name, Range use) const;
  bool IsDeviceWord(const std::string& name) const;
  // `t` of `t.relu` where t is an imported file and nothing nearer.
  const std::string* QualifierOf(syntax::ExprId id) const;
  std::optional<Value> ResolveDevice(const syntax::IndexExpr& node, Range range);
  std::optional<program::Route> ResolveRoute(syntax::ExprId id);

  // ---- expressions (resolve_expr.cpp) ----
  Value Visit(const syntax::IntLiteral& node, Range range);
  Value Visit(const syntax::FloatLiteral& node, Range range);
  Value Visit(const syntax::QuantityLiteral& node, Range range);
  Value Visit(const syntax::BoolLiteral& node, Range range);
  Value Visit(const syntax::StringLiteral& node, Range range);
  Value Visit(const syntax::NameExpr& node, Range range);
  Value Visit(const syntax::TupleExpr& node, Range range);
  Value Visit(const syntax::ListExpr& node, Range range);
  Value Visit(const syntax::Comprehension& node, Range range);
  Value Visit(const syntax::IfExpr& node, Range range);
  Value Visit(const syntax::CastExpr& node, Range range);
  Value Visit(const syntax::Modified& node, Range range);
  Value ResolveVia(const syntax::Modified& node, Range range);
  Value ResolveOn(const syntax::Modified& node, Range range);
  Value ResolveAfter(const syntax::Modified& node, Range range);
  // The element of what a `for` goes over.
  Static ElementOf(const Value& list);
  std::vector<program::LocalId> DeclarePattern(const std::vector<syntax::Name>& names, bool tuple,
                                               Range range, const Static& type, bool is_var);

  // ---- fields and subscripts (resolve_postfix.cpp) ----
  Value Visit(const syntax::FieldExpr& node, Range range);
  Value Visit(const syntax::IndexExpr& node, Range range);
  Static FieldType(const Static& base, const syntax::Name& name);
  Static IndexType(const Value& base, const std::vector<Value>& subscripts, Range range);
  Static PlacesIndexType(const Static& base, const std::vector<Value>& subscripts, Range range);
  Static TupleIndexType(const Static& base, const Value& subscript);

  // ---- operators (resolve_operator.cpp) ----
  Value Visit(const syntax::Unary& node, Range range);
  Value Visit(const syntax::Chain& node, Range range);
  Static UnaryType(const syntax::Unary& node, const Static& operand, Range range);
  Static BinaryType(BinaryOperator op, const Static& a, const Static& b, Range range);
  Static TensorOperator(BinaryOperator op, const Static& a, const Static& b, Range range);
  Static RefuseOperands(BinaryOperator op, const Static& a, const Static& b, Range range,
                        const std::string& mend);

  // ---- calls (resolve_call.cpp, arguments.cpp) ----
  Value Visit(const syntax::CallExpr& node, Range range);
  Value CallName(const syntax::CallExpr& node, const std::string& name, Range name_range,
                 Range range);
  Value CallSymbol(const syntax::CallExpr& node, const Symbol& symbol, const std::string& name,
                   Range name_range, Range range);
  Value CallOp(const syntax::CallExpr& node, program::OpId op, Range range);
  Value CallFn(const syntax::CallExpr& node, program::FnId fn, Range range);
  Value CallGraph(const syntax::CallExpr& node, program::GraphId graph, Range name_range,
                  Range range);
  Value CallMethod(const syntax::CallExpr& node, const syntax::FieldExpr& callee, Range range);
  std::optional<program::MethodId> FindMethodOf(const Value& receiver, const syntax::Name& name);
  Value CallBuiltin(const syntax::CallExpr& node, program::Builtin builtin, Range range);
  Static BuiltinType(program::Builtin builtin, const Arguments& arguments, Range range);
  Value CallUnknown(const syntax::CallExpr& node, const std::string& name, Range name_range,
                    Range range);

  // ---- collectives (resolve_collective.cpp) ----
  Value ResolveCollective(const syntax::CallExpr& node, CollectiveKind kind, Range name_range,
                          Range range);
  std::vector<int> DistributeCollective(const syntax::CallExpr& node,
                                        const CollectiveTraits& traits, Range range);
  std::optional<Reduction> ResolveReduction(const CollectiveTraits& traits, syntax::ExprId id);
  program::ExprId ResolvePlaces(const CollectiveTraits& traits, syntax::ExprId id);

  Value RefuseCall(const syntax::CallExpr& node, Code code, Range at, std::string message,
                   Range range);
  program::TypeId ResolveTypeArgument(const syntax::CallExpr& node, const program::Op& op);
  void RefuseTypeArgument(const syntax::CallExpr& node, const std::string& what);

  Arguments ResolveArguments(const std::vector<syntax::Argument>& arguments);
  // Which argument each parameter gets, -1 for none; reports what does not fit.
  std::vector<int> Distribute(const Arguments& given, const Callee& callee, Range call);
  // The result's type (what is known of it) after all arguments were matched.
  Static CheckArguments(const Arguments& given, const Callee& callee, Range call);

  // ---- types (resolve_type.cpp, resolve_dim.cpp) ----
  program::TypeId AddType(decltype(program::Type::node) node, Range range);
  program::TypeId ResolveNamedType(const syntax::NamedType& type, Range range, TypeRole role);
  program::TensorType ResolveBytes(const syntax::BytesType& type, Range range, TypeRole role);
  std::vector<program::Dim> ResolveDims(const std::vector<syntax::Dim>& dims, TypeRole role);
  program::Dim ResolveDim(const syntax::Dim& dim, TypeRole role);
  program::Dim ResolveRun(const syntax::Dim& dim, TypeRole role);
  program::Dim ResolveBounded(const syntax::Chain& chain, TypeRole role, Range range);
  program::Dim ResolvePlainDim(const std::string& name, TypeRole role, Range range);
  program::ExprId ResolveListLength(syntax::ExprId id, TypeRole role);
  std::optional<program::DimVariableId> DimVariable(const std::string& name, bool run,
                                                    TypeRole role, Range range);
  std::optional<program::GenericId> FindGeneric(const std::string& name) const;
  void ReportUnboundUses(const std::string& mend);
  void BindDim(program::DimVariableId id) { bound_dims_.insert(id); }

  // ---- statements (resolve_statement.cpp) ----
  std::vector<program::StatementId> ResolveBlock(const std::vector<syntax::StatementId>& ids);
  std::optional<program::Statement> VisitStatement(const syntax::Let& node, Range range);
  std::optional<program::Statement> VisitStatement(const syntax::Var& node, Range range);
  std::optional<program::Statement> VisitStatement(const syntax::For& node, Range range);
  std::optional<program::Statement> VisitStatement(const syntax::If& node, Range range);
  std::optional<program::Statement> VisitStatement(const syntax::Return& node, Range range);
  std::optional<program::Statement> VisitStatement(const syntax::Assign& node, Range range);
  std::optional<program::Statement> VisitStatement(const syntax::Evaluate& node, Range range);
  program::Bind ResolveBinding(const syntax::Pattern& pattern, syntax::TypeId type,
                               syntax::ExprId value, bool is_var);
  bool ResolveTarget(syntax::ExprId id, program::Assign& assign);
  bool ResolveTargetName(const syntax::Expr& expr, program::Assign& assign);
  void CheckElementTarget(const program::Assign& assign, Range range);
  void CheckReturns(const std::vector<syntax::StatementId>& ids, bool last);
  bool EndsWithReturn(const std::vector<syntax::StatementId>& ids) const;

  // ---- small helpers ----
  const syntax::Expr& Written(syntax::ExprId id) const { return module_.file.exprs[id]; }
  Value Make(decltype(program::Expr::node) node, Range range, Static type);
  Value Poison(Range range);
  Diagnostic& Report(Code code, Range range, std::string message) {
    return checker_.diagnostics.Report(code, range, std::move(message));
  }
  std::string Describe(const Static& type) const { return check::Describe(program_, type); }
  bool OpensScope() const { return site_ == Site::kGraph || site_ == Site::kFn; }
  void PushScope() { scopes_.push_back(undo_.size()); }
  void PopScope();

  Checker& checker_;
  program::Program& program_;
  const Module& module_;
  Site site_;
  program::Signature* signature_;
  Table<program::LocalId, program::Local>* locals_;
  program::ActorId actor_;  // of a method: its states are names

  // Names of locals, and what to put back at the end of a block.
  std::map<std::string, program::LocalId> names_;
  std::vector<std::pair<std::string, std::optional<program::LocalId>>> undo_;
  std::vector<size_t> scopes_;
  std::vector<Static> local_types_;  // by LocalId
  std::set<program::LocalId> used_;
  size_t hidden_below_ = 0;

  std::map<std::string, program::DimVariableId> dim_names_;
  std::set<program::DimVariableId> bound_dims_;
  std::vector<std::pair<program::DimVariableId, Range>> dim_uses_;  // not yet known to be bound
  const std::vector<syntax::StatementId>* body_ = nullptr;  // for names that stand further down
  std::optional<TypeRole> in_type_;  // while the dimensions of a type are being resolved
  program::ConstId const_;           // whose value this is
};

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_RESOLVER_H_
