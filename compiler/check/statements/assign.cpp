#include "compiler/check/statements/statements.h"

#include <fmt/format.h>

#include "compiler/check/expressions/resolve.h"
#include "compiler/check/names.h"
#include "compiler/check/scope/lookup.h"
#include "compiler/check/scope/scope.h"
#include "compiler/check/types/types.h"
#include "llvm/ADT/STLExtras.h"

namespace cgraph::check {

using namespace program;

namespace {

bool IsParameter(const Scope& scope, LocalId id) {
  const auto is = [&](const Parameter& parameter) { return parameter.local == id; };
  if (scope.signature && llvm::any_of(scope.signature->parameters, is)) return true;
  if (scope.optimizer.valid()) {
    const Optimizer& optimizer = scope.program.optimizers[scope.optimizer];
    return id.index < optimizer.parameters.size();
  }
  return scope.actor.valid() && llvm::any_of(scope.program.actors[scope.actor].parameters, is);
}

bool ResolveTargetName(Scope& scope, const syntax::Expr& expr, Assign& assign) {
  const auto* name = std::get_if<syntax::NameExpr>(&expr.node);
  const auto* field = std::get_if<syntax::FieldExpr>(&expr.node);
  if (field && IsSelf(scope, field->base)) {
    RefuseSelf(scope, field->name, expr.range);
    return false;
  }
  if (!name) {
    const bool of_place =
        field && ResolveValue(scope, field->base).type.kind == StaticType::kPlace;
    scope.Report(Code::kE0412, expr.range,
                 of_place ? fmt::format("what a place keeps is assigned to by methods of its actor "
                                        "alone: call one that has `{} = ...`",
                                        field->name.text)
                          : "only a `var`, a state, or an element of one can be assigned to");
    return false;
  }
  if (name->name != "none" && !IsOwnName(scope, name->name) && !HasName(scope.module, name->name)) {
    ReportUnknownName(scope, name->name, expr.range,
                      "; `let` declares a name, `var` one that is assigned again");
    // Later statements use the name as if it were declared, so that only this fault is reported.
    DeclareLocal(scope, {name->name, expr.range}, StaticType(), /*is_var=*/true);
    return false;
  }
  Value target = ResolveName(scope, name->name, expr.range);
  const auto& node = scope.program.exprs[target.id].node;
  if (const auto* state = std::get_if<StateRef>(&node)) {
    assign.state = state->state;
    return true;
  }
  if (const auto* local = std::get_if<LocalRef>(&node)) {
    const Local& row = scope.names.row(local->local);
    assign.local = local->local;
    if (row.is_var) return true;
    const char* why = IsParameter(scope, local->local)
                          ? "`{}` is a parameter, so its value stays; `var y = {}` can be assigned"
                          : "`{}` is not a `var`, so its value stays; declare it with `var` to "
                            "assign to it";
    scope
        .Report(Code::kE0411, expr.range,
                fmt::format(fmt::runtime(why), name->name, name->name))
        .AddNote(row.range, "declared here");
    return false;
  }
  if (!std::holds_alternative<NoneLiteral>(node) || name->name == "none") {
    scope.Report(
        Code::kE0411, expr.range,
        fmt::format("`{}` cannot be assigned to; only a `var` or a state can", name->name));
  }
  return false;
}

// Resolves `v`, `v[i]`, `v[i][j]`: a name and one subscript per index.
bool ResolveTarget(Scope& scope, syntax::ExprId id, Assign& assign) {
  const syntax::Expr* expr = &scope.Written(id);
  std::vector<const syntax::IndexExpr*> indices;
  while (const auto* index = std::get_if<syntax::IndexExpr>(&expr->node)) {
    indices.push_back(index);
    expr = &scope.Written(index->base);
  }
  bool known = ResolveTargetName(scope, *expr, assign);
  for (auto index = indices.rbegin(); index != indices.rend(); ++index) {
    bool one = (*index)->subscripts.size() == 1 && (*index)->subscripts[0].valid();
    if (!one) {
      scope.Report(Code::kE0412, expr->range,
                   "an assignment takes one subscript at a time: v[i][j] = e");
      return false;
    }
    Value subscript = ResolveInt(scope, (*index)->subscripts[0], "the subscript of an assignment");
    assign.subscripts.push_back(subscript.id);
  }
  return known;
}

// Reports the assignment to a row of a tensor; only an element of a list can be assigned.
void CheckElementTarget(Scope& scope, const Assign& assign, Range range) {
  if (!assign.state.valid()) return;
  TypeId type = scope.program.states[assign.state].type;
  for (size_t i = 0; i < assign.subscripts.size(); ++i) {
    const auto* list = std::get_if<ListType>(&scope.program.types[type].node);
    if (!list) {
      if (IsPoison(scope.program.types[type])) return;
      const bool tuple = std::holds_alternative<TupleType>(scope.program.types[type].node);
      const std::string mend =
          tuple ? "a tuple is assigned as a whole, `{0} = (a, b)`; `for` and [...] over it give "
                  "lists, which become no tuple"
                : "for a row of a tensor write `{0} = update_row({0}, row, at: i)`";
      scope
          .Report(Code::kE0412, range,
                  "only elements of a list can be assigned; " +
                      fmt::format(fmt::runtime(mend), scope.program.states[assign.state].name))
          .AddNote(scope.program.states[assign.state].range, "the state is declared here");
      return;
    }
    type = list->element;
  }
}

}  // namespace

std::optional<Statement> ResolveAssign(Scope& scope, const syntax::Assign& node, Range range) {
  Assign assign;
  bool known = ResolveTarget(scope, node.target, assign);
  Value value = ResolveValue(scope, node.value);
  if (!known) return std::nullopt;
  assign.value = value.id;
  CheckElementTarget(scope, assign, scope.Written(node.target).range);
  StaticType given = value.type;
  if (node.compound) {
    assign.compound = *node.compound;
    StaticType before = assign.state.valid() && assign.subscripts.empty()
                        ? StaticOf(scope.program, scope.program.states[assign.state].type)
                        : StaticType();
    given = BinaryType(scope, *assign.compound, before, given, range);
  }
  if (assign.state.valid() && assign.subscripts.empty()) {
    const State& state = scope.program.states[assign.state];
    ExpectType(scope, state.type, given, scope.Written(node.value).range,
               fmt::format("state `{}`", state.name), state.range);
  }
  return Statement{std::move(assign), range};
}

}  // namespace cgraph::check
