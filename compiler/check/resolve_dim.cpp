// Dimensions, and which names they bring.
//
// A name with a capital initial is a const; one with a small initial is a parameter in scope or a
// dimension variable. A variable that stands alone as a dimension of a parameter is bound there at
// each call; one that occurs only inside an expression, or only in a result, could not be solved
// for and is an error. An op's result may leave whole dimensions to what is expected (`zeros`).
#include <cctype>

#include <fmt/format.h>

#include "compiler/check/names.h"
#include "compiler/check/resolver.h"

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

}  // namespace

std::vector<Dim> Resolver::ResolveDims(const std::vector<syntax::Dim>& dims, TypeRole role) {
  auto outer = std::exchange(in_type_, role);
  std::vector<Dim> resolved;
  for (const syntax::Dim& dim : dims) {
    resolved.push_back(ResolveDim(dim, role));
    resolved.back().range = Written(dim.expr).range;
  }
  in_type_ = outer;
  return resolved;
}

Dim Resolver::ResolveDim(const syntax::Dim& dim, TypeRole role) {
  if (dim.run) return ResolveRun(dim, role);
  const syntax::Expr& expr = Written(dim.expr);
  const auto* chain = std::get_if<syntax::Chain>(&expr.node);
  if (chain && chain->operators.size() == 1 &&
      chain->operators[0] == BinaryOperator::kLessEqual) {
    return ResolveBounded(*chain, role, expr.range);
  }
  if (const auto* name = AsVariableName(expr)) return ResolvePlainDim(name->name, role, expr.range);
  return {.kind = Dim::kExpr, .expr = ResolveInt(dim.expr, "a dimension").id};
}

Dim Resolver::ResolvePlainDim(const std::string& name, TypeRole role, Range range) {
  bool is_dim = dim_names_.count(name) || (!IsOwnName(name) && name != "none");
  if (is_dim && !dim_names_.count(name) && HasName(module_, name)) {
    // A graph, op or place of that name is no number, so nobody could mean it here.
    const Found found = FindName(checker_, module_, name, range);
    is_dim = found.symbol && !std::holds_alternative<ConstId>(found.symbol->node);
  }
  if (!is_dim) {
    Value value = ResolveName(name, range);
    if (value.type.known() && value.type.kind != Static::kInt) {
      Report(Code::kE0420, range,
             fmt::format("a dimension is a compile-time int; `{}` is {}", name,
                         Describe(value.type)));
    }
    return {.kind = Dim::kExpr, .expr = value.id};
  }
  std::optional<DimVariableId> id = DimVariable(name, false, role, range);
  if (!id) return {.kind = Dim::kExpr, .expr = Poison(range).id};
  bool binds = role == TypeRole::kParameter || role == TypeRole::kHint ||
               (role == TypeRole::kResult && site_ == Site::kOp);
  if (binds) {
    BindDim(*id);
  } else {
    dim_uses_.emplace_back(*id, range);
  }
  return {.kind = Dim::kVariable, .variable = *id};
}

// `n <= 4096`; in an op's result also `length <= n` with the extent in the parameter `length`.
Dim Resolver::ResolveBounded(const syntax::Chain& chain, TypeRole role, Range range) {
  Dim dim;
  dim.kind = Dim::kBounded;
  const syntax::Expr& left = Written(chain.operands[0]);
  const auto* name = AsVariableName(left);
  if (!name) {
    Report(Code::kE0426, left.range,
           "a bounded dimension is a name with a small initial and its bound: n <= 4096");
    return {.kind = Dim::kExpr, .expr = Poison(range).id};
  }
  dim.expr = ResolveInt(chain.operands[1], "the bound of a dimension").id;
  if (auto local = names_.find(name->name); local != names_.end()) {
    const Static& type = local_types_[local->second.index];
    bool extent = type.kind == Static::kInt || !type.known() ||
                  (type.kind == Static::kTensor && type.rank == 0 && type.dtype == DType::kI64);
    if (role != TypeRole::kResult || site_ != Site::kOp || !extent) {
      Report(Code::kE0426, left.range,
             fmt::format("`{}` is declared already, so it cannot name a dimension; only an op's "
                         "result takes an extent from a parameter, an i64",
                         name->name))
          .AddNote((*locals_)[local->second].range, "declared here");
    }
    dim.extent = Make(LocalRef{local->second}, left.range, type).id;
    return dim;
  }
  std::optional<DimVariableId> id = DimVariable(name->name, false, role, left.range);
  if (!id) return {.kind = Dim::kExpr, .expr = Poison(range).id};
  dim.variable = *id;
  bool from_op = role == TypeRole::kResult && site_ == Site::kOp;
  if (from_op) {
    dim_uses_.emplace_back(*id, left.range);
  } else {
    BindDim(*id);
  }
  return dim;
}

// `*s`, `*broadcast(s, t)`.
Dim Resolver::ResolveRun(const syntax::Dim& dim, TypeRole role) {
  const syntax::Expr& expr = Written(dim.expr);
  if (const auto* name = AsVariableName(expr)) {
    auto local = names_.find(name->name);
    if (local != names_.end() && role == TypeRole::kResult && site_ == Site::kOp &&
        local_types_[local->second.index].is_list_of_ints()) {
      return {.kind = Dim::kRun, .expr = ResolveName(name->name, expr.range).id};
    }
    if (local != names_.end()) {
      Report(Code::kE0319, expr.range,
             fmt::format("`{}` is declared already, so it cannot name a run of dimensions",
                         name->name))
          .AddNote((*locals_)[local->second].range, "declared here");
      return {.kind = Dim::kRun, .expr = Poison(expr.range).id};
    }
    std::optional<DimVariableId> id = DimVariable(name->name, true, role, expr.range);
    if (!id) return {.kind = Dim::kRun, .expr = Poison(expr.range).id};
    bool from_caller = role == TypeRole::kParameter || role == TypeRole::kHint ||
                       (role == TypeRole::kResult && site_ == Site::kOp);
    if (from_caller) {
      BindDim(*id);
    } else {
      dim_uses_.emplace_back(*id, expr.range);
    }
    return {.kind = Dim::kRun, .variable = *id};
  }
  if (role == TypeRole::kParameter && std::holds_alternative<syntax::CallExpr>(expr.node)) {
    Report(Code::kE0310, expr.range,
           "a call cannot solve for a function of runs; in a parameter's type a run is a name, *s");
    return {.kind = Dim::kRun, .expr = Poison(expr.range).id};
  }
  Value value = Resolve(dim.expr);
  if (value.type.known() && value.type.kind != Static::kDims) {
    Report(Code::kE0426, expr.range,
           "after `*` stands a run of dimensions: a name with a small initial, broadcast(s, t), "
           "drop(s, dim) or permuted(s, order)");
  }
  return {.kind = Dim::kRun, .expr = value.id};
}

ExprId Resolver::ResolveListLength(syntax::ExprId id, TypeRole role) {
  auto outer = std::exchange(in_type_, role);
  ExprId length = ResolveInt(id, "the length of a list").id;
  in_type_ = outer;
  // A variable that stands alone is bound by the length of the list that is given.
  const auto* ref = std::get_if<DimRef>(&program_.exprs[length].node);
  if (ref && (role == TypeRole::kParameter || role == TypeRole::kHint)) BindDim(ref->variable);
  return length;
}

std::optional<DimVariableId> Resolver::DimVariable(const std::string& name, bool run,
                                                   TypeRole role, Range range) {
  if (auto known = dim_names_.find(name); known != dim_names_.end()) {
    const auto& variable = signature_->dim_variables[known->second];
    if (variable.run == run) return known->second;
    Report(Code::kE0319, range,
           fmt::format("`{0}` is {1} in one place and {2} in another; a run is written `*{0}` "
                       "wherever it stands as a dimension",
                       name, variable.run ? "a run of dimensions" : "one dimension",
                       run ? "a run" : "one dimension"))
        .AddNote(variable.range, "it first stands here");
    return std::nullopt;
  }
  bool may_bring = signature_ && (role == TypeRole::kParameter || role == TypeRole::kResult ||
                                  role == TypeRole::kHint);
  if (may_bring) {
    DimVariableId id = signature_->dim_variables.Add({name, run, range});
    dim_names_[name] = id;
    return id;
  }
  if (checker_.syntax_errors) return std::nullopt;
  if (role == TypeRole::kState) {
    Report(Code::kE0311, range,
           fmt::format("`{}` is neither a const nor a parameter of the actor; the shape of a state "
                       "is static",
                       name));
  } else {
    Report(Code::kE0310, range, fmt::format("nothing says what the dimension `{}` is here", name));
  }
  return std::nullopt;
}

void Resolver::ReportUnboundUses(const std::string& mend) {
  for (const auto& [id, range] : dim_uses_) {
    if (bound_dims_.count(id)) continue;
    bound_dims_.insert(id);  // once is enough
    Report(Code::kE0310, range,
           fmt::format("nothing says what the dimension `{}` is: it stands alone in no "
                       "parameter's type; {}",
                       signature_->dim_variables[id].name, mend));
  }
  dim_uses_.clear();
}

}  // namespace cgraph::check
