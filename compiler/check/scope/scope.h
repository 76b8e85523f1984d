// Scope: what the types, expressions and statements of one declaration are resolved in, from Syntax
// to Program.
//
// It lives from the declaration's signature to its body and knows the names in between: parameters,
// `let`s, dimension variables, the states of the method's actor, then the names of the file. What
// is wrong is reported once and becomes a poison value (`none` of unknown type), which is accepted
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

// Where an expression stands: this decides what it may do.
enum class Site : uint8_t {
  kConst, kOp, kActor, kPlace, kFn, kMethod, kGraph, kSchedule, kTopology
};

// What a type is written for: this decides which names its dimensions may bring.
enum class TypeRole : uint8_t { kParameter, kResult, kState, kHint, kArgument, kConst };

struct Value {
  program::ExprId id;
  StaticType type;
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
  program::ActorId actor;  // of a method: its states are names
  LocalNames names;
  DimNames dims;
  std::optional<TypeRole> in_type;  // while the dimensions of a type are being resolved
  program::ConstId of_const;        // whose value this is
  // Where names that nothing declares are variables of the calls that a schedule is about: each is
  // declared where it first stands, and added here.
  std::vector<program::LocalId>* call_variables = nullptr;
  std::optional<PropertyUnit> unit;  // where numbers with a unit may stand, and of which kind
  const std::vector<syntax::StatementId>* body = nullptr;  // for names that stand further down
  // What it declares, and where, from top to bottom; listed when the first name is not found.
  std::optional<std::map<std::string, std::vector<Range>>> declared_in_body;

  const syntax::Expr& Written(syntax::ExprId id) const { return module.file.exprs[id]; }
  // Of a graph, or of a fn, which a graph may call.
  bool MayUsePlaces() const { return site == Site::kGraph || site == Site::kFn; }
  std::optional<program::GenericId> FindGeneric(const std::string& name) const;
  // A value of a type that is written in this declaration.
  StaticType Declared(program::TypeId type) const;
  std::string Describe(const StaticType& type) const { return check::Describe(program, type); }

  Value Make(decltype(program::Expr::node) node, Range range, StaticType type);
  Value Poison(Range range) { return Make(program::NoneLiteral(), range, StaticType()); }
  Diagnostic& Report(Code code, Range range, std::string message) {
    return checker.diagnostics.Report(code, range, std::move(message));
  }
};

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_SCOPE_SCOPE_H_
