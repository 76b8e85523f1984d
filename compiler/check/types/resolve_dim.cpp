#include "compiler/check/types/types.h"

#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "compiler/check/expressions/resolve.h"
#include "compiler/check/names.h"
#include "compiler/check/scope/lookup.h"
#include "compiler/check/scope/scope.h"

namespace cgraph::check {

using namespace program;

namespace {

bool HasSmallInitial(const std::string& name) {
  return !name.empty() && !std::isupper(static_cast<unsigned char>(name[0]));
}

const syntax::NameExpr* AsVariableName(const syntax::Expr& expr) {
  const auto* name = std::get_if<syntax::NameExpr>(&expr.node);
  return name && HasSmallInitial(name->name) ? name : nullptr;
}

Dim ResolvePlainDim(Scope& scope, const std::string& name, TypeRole role, Range range) {
  bool is_dim = scope.dims.Find(name) || (!IsOwnName(scope, name) && name != "none");
  if (is_dim && !scope.dims.Find(name) && HasName(scope.module, name)) {
    // A graph, op or place of that name is no number, so it cannot be meant here.
    const Found found = FindName(scope.checker, scope.module, name, range);
    is_dim = found.symbol && !std::holds_alternative<ConstId>(found.symbol->node);
  }
  if (!is_dim) {
    Value value = ResolveName(scope, name, range);
    if (value.type.known() && value.type.kind != StaticType::kInt) {
      Diagnostic& diagnostic =
          scope.Report(Code::kE0420, range,
                       fmt::format("a dimension is a compile-time int; `{}` is {}", name,
                                   scope.Describe(value.type)));
      if (const auto* state = std::get_if<StateRef>(&scope.program.exprs[value.id].node)) {
        diagnostic.message += ", a state of the actor; give the dimension another name";
        diagnostic.AddNote(scope.program.states[state->state].range, "declared here");
      }
    }
    return {.kind = Dim::kExpr, .expr = value.id};
  }
  std::optional<DimVariableId> id = DimVariable(scope, name, false, role, range);
  if (!id) return {.kind = Dim::kExpr, .expr = scope.Poison(range).id};
  bool binds = role == TypeRole::kParameter || role == TypeRole::kHint ||
               (role == TypeRole::kResult && scope.site == Site::kOp);
  if (binds) {
    scope.dims.Bind(*id);
  } else {
    scope.dims.AddUse(*id, range);
  }
  return {.kind = Dim::kVariable, .variable = *id};
}

// Resolves `n <= 4096`; in an op's result also `length <= n` with the extent in the parameter
// `length`.
Dim ResolveBounded(Scope& scope, const syntax::Chain& chain, TypeRole role, Range range) {
  Dim dim;
  dim.kind = Dim::kBounded;
  const syntax::Expr& left = scope.Written(chain.operands[0]);
  const auto* name = AsVariableName(left);
  if (!name) {
    scope.Report(Code::kE0426, left.range,
                 "a bounded dimension is a name with a small initial and its bound: n <= 4096");
    return {.kind = Dim::kExpr, .expr = scope.Poison(range).id};
  }
  dim.expr = ResolveInt(scope, chain.operands[1], "the bound of a dimension").id;
  if (const auto local = scope.names.Find(name->name)) {
    const StaticType& type = scope.names.type(*local);
    bool extent = type.kind == StaticType::kInt || !type.known() ||
                  (type.kind == StaticType::kTensor && type.rank == 0 && type.dtype == DType::kI64);
    if (role == TypeRole::kNamed) {
      scope.Report(Code::kE0426, left.range,
                   fmt::format("`{0}` is a parameter of the type, and stands alone as a dimension; "
                               "a bound is written where the type is used, with {0} <= 64 as its "
                               "argument",
                               name->name));
    } else if (role != TypeRole::kResult || scope.site != Site::kOp || !extent) {
      scope
          .Report(
              Code::kE0426, left.range,
              fmt::format("`{}` is declared already, so it cannot name a dimension; only an op's "
                          "result takes an extent from a parameter, an i64",
                          name->name))
          .AddNote(scope.names.row(*local).range, "declared here");
    }
    dim.extent = scope.Make(LocalRef{*local}, left.range, type).id;
    return dim;
  }
  std::optional<DimVariableId> id = DimVariable(scope, name->name, false, role, left.range);
  if (!id) return {.kind = Dim::kExpr, .expr = scope.Poison(range).id};
  dim.variable = *id;
  bool from_op = role == TypeRole::kResult && scope.site == Site::kOp;
  if (from_op) {
    scope.dims.AddUse(*id, left.range);
  } else {
    scope.dims.Bind(*id);
  }
  return dim;
}

// Resolves `*s`, `*broadcast(s, t)`.
Dim ResolveRun(Scope& scope, const syntax::Dim& dim, TypeRole role) {
  const syntax::Expr& expr = scope.Written(dim.expr);
  if (const auto* name = AsVariableName(expr)) {
    const auto local = scope.names.Find(name->name);
    if (local && role == TypeRole::kResult && scope.site == Site::kOp &&
        scope.names.type(*local).is_list_of_ints()) {
      return {.kind = Dim::kRun, .expr = ResolveName(scope, name->name, expr.range).id};
    }
    if (local) {
      scope
          .Report(Code::kE0319, expr.range,
                  fmt::format("`{}` is declared already, so it cannot name a run of dimensions",
                              name->name))
          .AddNote(scope.names.row(*local).range, "declared here");
      return {.kind = Dim::kRun, .expr = scope.Poison(expr.range).id};
    }
    std::optional<DimVariableId> id = DimVariable(scope, name->name, true, role, expr.range);
    if (!id) return {.kind = Dim::kRun, .expr = scope.Poison(expr.range).id};
    bool from_caller = role == TypeRole::kParameter || role == TypeRole::kHint ||
                       (role == TypeRole::kResult && scope.site == Site::kOp);
    if (from_caller) {
      scope.dims.Bind(*id);
    } else {
      scope.dims.AddUse(*id, expr.range);
    }
    return {.kind = Dim::kRun, .variable = *id};
  }
  if (role == TypeRole::kParameter && std::holds_alternative<syntax::CallExpr>(expr.node)) {
    scope.Report(
        Code::kE0310, expr.range,
        "a call cannot solve for a function of runs; in a parameter's type a run is a name, *s");
    return {.kind = Dim::kRun, .expr = scope.Poison(expr.range).id};
  }
  Value value = Resolve(scope, dim.expr);
  if (value.type.known() && value.type.kind != StaticType::kDims) {
    scope.Report(
        Code::kE0426, expr.range,
        "after `*` stands a run of dimensions: a name with a small initial, broadcast(s, t), "
        "drop(s, dim), insert(s, dim, n), permuted(s, order) or inferred(shape, n)");
  }
  return {.kind = Dim::kRun, .expr = value.id};
}

// Resolves `each n`. The run `n` is then the extents of all elements of the list.
Dim ResolveEach(Scope& scope, const syntax::Dim& dim, TypeRole role) {
  const syntax::Expr& expr = scope.Written(dim.expr);
  const auto* name = AsVariableName(expr);
  const bool may =
      role == TypeRole::kParameter && (scope.site == Site::kOp || scope.site == Site::kFn);
  if (name == nullptr || !may || scope.names.Find(name->name)) {
    scope.Report(Code::kE0426, expr.range,
                 "`each n` is a dimension that differs between the elements of a list that is a "
                 "parameter of an op or fn; its name is a new one with a small initial");
    return {.kind = Dim::kExpr, .expr = scope.Poison(expr.range).id};
  }
  std::optional<DimVariableId> id = DimVariable(scope, name->name, true, role, expr.range);
  if (!id) return {.kind = Dim::kExpr, .expr = scope.Poison(expr.range).id};
  scope.dims.Bind(*id);
  return {.kind = Dim::kEach, .variable = *id};
}

// Returns what a parameter of the named type is here, where an expression is nothing else.
const TypeArgument* AsArgument(const Scope& scope, syntax::ExprId id) {
  const auto* name = std::get_if<syntax::NameExpr>(&scope.Written(id).node);
  return name ? scope.FindTypeArgument(name->name) : nullptr;
}

Dim ResolveDim(Scope& scope, const syntax::Dim& dim, TypeRole role) {
  if (const TypeArgument* argument = AsArgument(scope, dim.expr)) {
    return ResolveDims(*argument->scope, {{argument->value}}, role)[0];
  }
  if (dim.each) return ResolveEach(scope, dim, role);
  if (dim.run) return ResolveRun(scope, dim, role);
  const syntax::Expr& expr = scope.Written(dim.expr);
  const auto* chain = std::get_if<syntax::Chain>(&expr.node);
  if (chain && chain->operators.size() == 1 && chain->operators[0] == BinaryOperator::kLessEqual) {
    return ResolveBounded(scope, *chain, role, expr.range);
  }
  if (const auto* name = AsVariableName(expr))
    return ResolvePlainDim(scope, name->name, role, expr.range);
  return {.kind = Dim::kExpr, .expr = ResolveInt(scope, dim.expr, "a dimension").id};
}

}  // namespace

std::vector<Dim> ResolveDims(Scope& scope, const std::vector<syntax::Dim>& dims, TypeRole role) {
  auto outer = std::exchange(scope.in_type, role);
  std::vector<Dim> resolved;
  for (const syntax::Dim& dim : dims) {
    resolved.push_back(ResolveDim(scope, dim, role));
    Range& range = resolved.back().range;  // of an argument of a named type, where it stands
    if (!range.valid()) range = scope.Written(dim.expr).range;
  }
  scope.in_type = outer;
  return resolved;
}

ExprId ResolveListLength(Scope& scope, syntax::ExprId id, TypeRole role) {
  if (const TypeArgument* argument = AsArgument(scope, id)) {
    return ResolveListLength(*argument->scope, argument->value, role);
  }
  auto outer = std::exchange(scope.in_type, role);
  ExprId length = ResolveInt(scope, id, "the length of a list").id;
  scope.in_type = outer;
  // A variable that stands alone is bound by the length of the list argument.
  const auto* ref = std::get_if<DimRef>(&scope.program.exprs[length].node);
  if (ref && (role == TypeRole::kParameter || role == TypeRole::kHint))
    scope.dims.Bind(ref->variable);
  return length;
}

std::optional<DimVariableId> DimVariable(Scope& scope, const std::string& name, bool run,
                                         TypeRole role, Range range) {
  if (const auto known = scope.dims.Find(name)) {
    const auto& variable = scope.signature->dim_variables[*known];
    if (variable.run == run) return known;
    scope
        .Report(Code::kE0319, range,
                fmt::format("`{0}` is {1} in one place and {2} in another; a run is written `*{0}` "
                            "wherever it stands as a dimension",
                            name, variable.run ? "a run of dimensions" : "one dimension",
                            run ? "a run" : "one dimension"))
        .AddNote(variable.range, "it first stands here");
    return std::nullopt;
  }
  bool may_bring = scope.signature && (role == TypeRole::kParameter || role == TypeRole::kResult ||
                                       role == TypeRole::kHint);
  if (may_bring) {
    DimVariableId id = scope.signature->dim_variables.Add({name, run, range});
    scope.dims.Add(name, id);
    return id;
  }
  if (scope.checker.names_missing) return std::nullopt;
  if (role == TypeRole::kNamed) {
    scope.Report(Code::kE0310, range,
                 fmt::format("`{0}` is neither a const nor a parameter of the type: as one, {0}: "
                             "int, each use of the type says what it is",
                             name));
    return std::nullopt;
  }
  if (role == TypeRole::kState) {
    scope.Report(
        Code::kE0311, range,
        scope.optimizer.valid()
            ? fmt::format("`{}` is neither a const nor a dimension of the tensor that `update` "
                          "takes first, nor a parameter of the optimizer",
                          name)
            : fmt::format("`{}` is neither a const nor a parameter of the actor; the shape of a "
                          "state is static",
                          name));
  } else {
    scope.Report(Code::kE0310, range,
                 fmt::format("nothing says what the dimension `{}` is here", name));
  }
  return std::nullopt;
}

void ReportUnboundUses(Scope& scope, const std::string& mend) {
  for (const auto& [id, range] : scope.dims.TakeUnbound()) {
    const auto& variable = scope.signature->dim_variables[id];
    scope.Report(
        Code::kE0310, range,
        variable.run
            ? fmt::format("nothing says what the dimensions `*{0}` are: they stand in no "
                          "parameter's type; give it a parameter that has them, `x: f32[*{0}]`, or "
                          "write them as integers",
                          variable.name)
            : fmt::format("nothing says what the dimension `{}` is: it stands alone in no "
                          "parameter's type; {}",
                          variable.name, mend));
  }
}

}  // namespace cgraph::check
