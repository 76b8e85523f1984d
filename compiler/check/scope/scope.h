// Scope: everything in which the types, expressions and statements of one declaration are resolved,
// from Syntax to Program.
//
// It lives from the declaration's signature to its body and knows the names in between: parameters,
// `let`s, dimension variables, the states of the method's actor, then the names of the file. A
// fault is reported once and becomes a poison value (`none` of unknown type), which is accepted
// everywhere.
#ifndef CGRAPH_COMPILER_CHECK_SCOPE_SCOPE_H_
#define CGRAPH_COMPILER_CHECK_SCOPE_SCOPE_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/check/checker.h"
#include "compiler/check/scope/dim_names.h"
#include "compiler/check/scope/local_names.h"

namespace cgraph::check {

// A name that a `let` or `var` declares in a body.
struct DeclaredName {
  Range range;
  uint32_t end;  // where the loop or the branch ends in which it is declared
};

// Site: where an expression stands; it decides what the expression may do.
enum class Site : uint8_t {
  kConst, kType, kOp, kActor, kOptimizer, kPlace, kFn, kMethod, kGraph, kSchedule, kTopology
};

// TypeRole: what a type is written for; it decides which names its dimensions may introduce.
// kNamed: what a name stands for, looked at by itself; a use has the role of where it stands.
enum class TypeRole : uint8_t { kParameter, kResult, kState, kHint, kArgument, kConst, kNamed };

struct Value {
  program::ExprId id;
  StaticType type;
};

struct Scope;

// An argument of a named type, `64` of Layer(64), and the scope in which it stands.
struct TypeArgument {
  Scope* scope;
  syntax::ExprId value;
};

struct Scope {
  // `signature` may be null: then there are no dimension variables. Both pointers are into the
  // Program's tables, whose rows stay where they are once everything is declared.
  Scope(Checker& checker, const Module& module, Site site, program::Signature* signature,
        LocalNames::Rows* locals)
      : checker(checker),
        program(checker.program),
        module(module),
        site(site),
        signature(signature),
        names(locals) {}

  Checker& checker;
  program::Program& program;
  const Module& module;
  const Site site;
  program::Signature* const signature;
  program::ActorId actor;          // of a method: its states are names
  program::OptimizerId optimizer;  // of an `update`: its slots are names
  LocalNames names;
  DimNames dims;
  std::optional<TypeRole> in_type;  // while the dimensions of a type are being resolved
  program::ConstId of_const;        // whose value this is
  // Set where names that nothing declares are variables of the calls that a schedule is about: each
  // is declared where it first stands, and added here.
  std::vector<program::LocalId>* call_variables = nullptr;
  bool in_gradient = false;   // in the body of a rule, which returns gradients by name
  bool names_params = false;  // in `of:` of `grad`, where `stage[0].w` is a param
  std::optional<PropertyUnit> unit;  // where numbers with a unit may stand, and of which kind
  // Of the definition of a named type at one of its uses: what its parameters are there, as it is
  // written there, so that `n` of Rows(n) is bound like any dimension.
  const std::map<std::string, TypeArgument>* type_arguments = nullptr;
  const std::vector<syntax::StatementId>* body = nullptr;  // for names that stand further down
  // While a condition is resolved that stands before the statements which it is about: where these
  // end.
  std::optional<uint32_t> as_if_behind;
  // The names that the body declares, and where, from top to bottom; listed when the first name is
  // not found.
  std::optional<std::map<std::string, std::vector<DeclaredName>>> declared_in_body;

  // RoutedLet: the `via` of a `let` of one name, and the uses of that name with one of their own.
  struct RoutedLet {
    program::Route route;
    size_t overridden = 0;
    Range by;  // the first of them
  };
  std::map<program::LocalId, RoutedLet> routed_lets;

  const syntax::Expr& Written(syntax::ExprId id) const { return module.file.exprs[id]; }
  // True in a graph, and in a fn, which a graph may call.
  bool MayUsePlaces() const { return site == Site::kGraph || site == Site::kFn; }
  // Returns what a parameter of the named type is at this use; null where it is no parameter.
  const TypeArgument* FindTypeArgument(const std::string& name) const;
  std::optional<program::GenericId> FindGeneric(const std::string& name) const;
  // Finds a state of the actor, or a slot of the optimizer; invalid where there is none.
  program::StateId FindState(const std::string& name) const;
  // Returns a value of a type that is written in this declaration.
  StaticType Declared(program::TypeId type) const;
  std::string Describe(const StaticType& type) const { return check::Describe(program, type); }

  Value Make(decltype(program::Expr::node) node, Range range, StaticType type);
  Value Poison(Range range) { return Make(program::NoneLiteral(), range, StaticType()); }
  Diagnostic& Report(Code code, Range range, std::string message) {
    return checker.diagnostics.Report(code, range, std::move(message));
  }
};

// ---- new local names: parameters, `let`s, loop variables
//
// No local name may hide another of the same body: a second `let h` in a loop would look like an
// assignment and be none.
enum class LocalKind : uint8_t {
  kFixed,  // a parameter, an index, a loop variable
  kLet,
  kVar
};
program::LocalId DeclareLocal(Scope& scope, const syntax::Name& name, StaticType type,
                              LocalKind kind);

std::vector<program::LocalId> DeclarePattern(Scope& scope, const std::vector<syntax::Name>& names,
                                             bool tuple, Range range, const StaticType& type,
                                             LocalKind kind, const char* mend = "");

// Returns whether a local is a parameter of this declaration, or of its actor or optimizer.
bool IsParameter(const Scope& scope, program::LocalId id);

// Its parameters come first, its states are in scope.
void InheritActor(Scope& scope, program::ActorId actor);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_SCOPE_SCOPE_H_
