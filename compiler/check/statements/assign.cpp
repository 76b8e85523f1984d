#include "compiler/check/statements/statements.h"

#include <fmt/format.h>

#include "compiler/check/expressions/resolve.h"
#include "compiler/check/names.h"
#include "compiler/check/scope/lookup.h"
#include "compiler/check/scope/scope.h"
#include "compiler/check/types/types.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/text.h"

namespace cgraph::check {

using namespace program;

namespace {

bool ResolveTargetName(Scope& scope, const syntax::Expr& expr, Assign& assign) {
  const auto* name = std::get_if<syntax::NameExpr>(&expr.node);
  const auto* field = std::get_if<syntax::FieldExpr>(&expr.node);
  if (field && IsSelf(scope, field->base)) {
    RefuseSelf(scope, field->name, expr.range);
    return false;
  }
  const syntax::Expr* unknown = field ? UnknownQualifier(scope, field->base) : nullptr;
  if (unknown != nullptr) {
    ReportUnknownPath(scope, *unknown, field->name, expr.range);
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
    DeclareLocal(scope, {name->name, expr.range}, StaticType(), LocalKind::kVar);
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

// Returns what an assignment's target begins with: the `v` of `v[i].up`.
const syntax::Expr& RootOf(const Scope& scope, syntax::ExprId id) {
  for (;;) {
    const syntax::Expr& expr = scope.Written(id);
    if (const auto* index = std::get_if<syntax::IndexExpr>(&expr.node)) {
      id = index->base;
    } else if (const auto* field = std::get_if<syntax::FieldExpr>(&expr.node)) {
      id = field->base;
    } else {
      return expr;
    }
  }
}

// Returns whether `v.up = e` assigns to a field: v is a name of this body and no place.
bool HasFields(Scope& scope, const syntax::Expr& root) {
  const auto* name = std::get_if<syntax::NameExpr>(&root.node);
  if (!name || !IsOwnName(scope, name->name)) return false;
  const auto local = scope.names.Find(name->name);
  if (!local) return true;
  const StaticType::Kind kind = scope.names.type(*local).kind;
  return kind != StaticType::kPlace && kind != StaticType::kPlaces;
}

// Resolves `v`, `v[i]`, `v[i].up`: a name, and one part for each index or field.
bool ResolveTarget(Scope& scope, syntax::ExprId id, Assign& assign) {
  const syntax::Expr* expr = &scope.Written(id);
  const bool has_fields = HasFields(scope, RootOf(scope, id));
  std::vector<const syntax::Expr*> postfixes;
  for (;;) {
    const auto* index = std::get_if<syntax::IndexExpr>(&expr->node);
    const auto* field = std::get_if<syntax::FieldExpr>(&expr->node);
    if (!index && !(field && has_fields)) break;
    postfixes.push_back(expr);
    expr = &scope.Written(index ? index->base : field->base);
  }
  const bool known = ResolveTargetName(scope, *expr, assign);
  for (auto postfix = postfixes.rbegin(); postfix != postfixes.rend(); ++postfix) {
    if (const auto* field = std::get_if<syntax::FieldExpr>(&(*postfix)->node)) {
      assign.parts.push_back({ExprId(), field->name.text, field->name.range});
      continue;
    }
    const auto& index = std::get<syntax::IndexExpr>((*postfix)->node);
    const bool one = index.subscripts.size() == 1 && index.subscripts[0].valid();
    if (!one) {
      scope.Report(Code::kE0412, expr->range,
                   "an assignment takes one subscript at a time: v[i][j] = e");
      return false;
    }
    const syntax::ExprId written = index.subscripts[0];
    const Value subscript = ResolveInt(scope, written, "the subscript of an assignment");
    assign.parts.push_back({subscript.id, "", scope.Written(written).range});
  }
  return known;
}

// Returns the type of a field, or of an element by its number, of a state that is a tuple; an
// invalid id where there is none, which is reported, or where only elaboration knows the number.
TypeId TypeOfField(Scope& scope, const TupleType& tuple, const Assign::Part& part) {
  if (part.subscript.valid()) {
    const auto* literal = std::get_if<IntLiteral>(&scope.program.exprs[part.subscript].node);
    if (!literal) return TypeId();
    const auto count = static_cast<int64_t>(tuple.fields.size());
    if (literal->value >= 0 && literal->value < count) return tuple.fields[literal->value].type;
    scope.Report(
        Code::kE0418, part.range,
        fmt::format("the tuple has {}; there is no {}", Counted(count, "field"), literal->value));
    return TypeId();
  }
  std::vector<std::string> names;
  for (const TupleType::Field& field : tuple.fields) {
    if (field.name == part.field) return field.type;
    names.push_back(field.name);
  }
  Diagnostic& diagnostic = scope.Report(Code::kE0313, part.range,
                                        fmt::format("the tuple has no field `{}`", part.field));
  scope.checker.Suggest(diagnostic, part.range, part.field, names);
  return TypeId();
}

// Reports the assignment to a row of a tensor, or to a field that there is not: only an element of
// a list or a tuple can be assigned.
void CheckElementTarget(Scope& scope, const Assign& assign, Range range) {
  if (!assign.state.valid()) return;
  const State& state = scope.program.states[assign.state];
  TypeId type = state.type;
  for (const Assign::Part& part : assign.parts) {
    if (!type.valid() || IsPoison(scope.program.types[type])) return;
    const auto& node = scope.program.types[type].node;
    if (const auto* tuple = std::get_if<TupleType>(&node)) {
      type = TypeOfField(scope, *tuple, part);
      continue;
    }
    const auto* list = std::get_if<ListType>(&node);
    if (list && part.subscript.valid()) {
      type = list->element;
      continue;
    }
    const Range before{range.source, range.begin, part.range.begin};
    const std::string whole =
        llvm::StringRef(scope.checker.sources.Text(before)).rtrim("[ \t\r\n").str();
    const std::string mend =
        list ? "those of a list have numbers, xs[0] = e"
        : part.subscript.valid()
            ? fmt::format("for a row of a tensor write `{0} = update_row({0}, row, at: i)`", whole)
            : "a tensor has no fields";
    scope.Report(Code::kE0412, range, "only elements of a list or a tuple can be assigned; " + mend)
        .AddNote(state.range, "the state is declared here");
    return;
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
    StaticType before = assign.state.valid() && assign.parts.empty()
                            ? StaticOf(scope.program, scope.program.states[assign.state].type)
                            : StaticType();
    given = BinaryType(scope, *assign.compound, before, given, range);
  }
  if (assign.state.valid() && assign.parts.empty()) {
    const State& state = scope.program.states[assign.state];
    ExpectType(scope, state.type, given, scope.Written(node.value).range,
               fmt::format("state `{}`", state.name), state.range);
  }
  return Statement{std::move(assign), range};
}

}  // namespace cgraph::check
