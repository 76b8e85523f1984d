#include "compiler/check/expressions/resolve.h"

#include <fmt/format.h>

#include "compiler/check/expressions/visit.h"
#include "compiler/check/scope/scope.h"

namespace cgraph::check {

using namespace program;

Value Resolve(Scope& scope, syntax::ExprId id) {
  const syntax::Expr& expr = scope.Written(id);
  return std::visit([&](const auto& node) { return Visit(scope, node, expr.range); }, expr.node);
}

Value ResolveValue(Scope& scope, syntax::ExprId id) {
  Value value = Resolve(scope, id);
  if (value.type.kind == StaticType::kNothing) {
    const auto* builtin = std::get_if<CallBuiltin>(&scope.checker.program.exprs[value.id].node);
    const bool is_grad = builtin != nullptr && builtin->builtin == Builtin::kGrad;
    scope.Report(Code::kE0427, scope.Written(id).range,
                 is_grad
                     ? "without `of:`, `grad` lets native code compute the gradients of what it "
                       "keeps, and gives none; say what they are of: grad(loss, of: net)"
                     : "this call has no result, so it is no value");
    value.type = StaticType();
  } else if (value.type.kind == StaticType::kDims) {
    scope.Report(
        Code::kE0427, scope.Written(id).range,
        "a run of dimensions is no value; size(s) is the number of its elements, rank(s) that "
        "of its dimensions");
    value.type = StaticType();
  }
  return value;
}

Value ResolveCompileTime(Scope& scope, syntax::ExprId id, const char* what) {
  Value value = ResolveValue(scope, id);
  if (value.type.kind != StaticType::kTensor) return value;
  const bool of_op = std::holds_alternative<CallOp>(scope.program.exprs[value.id].node);
  scope.Report(Code::kE0420, scope.Written(id).range,
               fmt::format("{} must be known at compile time; this is {}{}", what,
                           scope.Describe(value.type),
                           of_op && value.type.rank == 0
                               ? "; numbers are made of numbers by sqrt, exp, log, pow, minimum "
                                 "and maximum"
                               : ""));
  value.type = StaticType();
  return value;
}

Value ResolveInt(Scope& scope, syntax::ExprId id, const char* what) {
  Value value = ResolveCompileTime(scope, id, what);
  if (value.type.known() && value.type.kind != StaticType::kInt) {
    scope.Report(
        Code::kE0420, scope.Written(id).range,
        fmt::format("{} is a compile-time int; this is {}", what, scope.Describe(value.type)));
  }
  return value;
}

Value ResolveCondition(Scope& scope, syntax::ExprId id) {
  Value value = ResolveValue(scope, id);
  if (!value.type.known() || value.type.kind == StaticType::kBool) return value;
  bool late = value.type.kind == StaticType::kTensor;
  scope.Report(
      Code::kE0415, scope.Written(id).range,
      fmt::format(
          "a condition is a compile-time bool; this is {}{}", scope.Describe(value.type),
          late ? ", whose value is known only while running: where(c, a, b) chooses then" : ""));
  return value;
}

Value ResolveBytes(Scope& scope, syntax::ExprId id, const char* what) {
  const syntax::Expr& expr = scope.Written(id);
  const auto* quantity = std::get_if<syntax::QuantityLiteral>(&expr.node);
  if (quantity == nullptr) return ResolveInt(scope, id, what);
  const UnitTraits* unit = FindUnit(quantity->unit);
  const bool is_bytes = unit != nullptr && unit->unit == PropertyUnit::kBytes;
  if (is_bytes && quantity->value * unit->factor < 9e18) {
    const auto value = static_cast<int64_t>(quantity->value * unit->factor);
    return scope.Make(IntLiteral{value}, expr.range, StaticType::Of(StaticType::kInt));
  }
  scope.Report(Code::kE0425, expr.range,
               fmt::format("{} is a number of bytes: 512MiB, 40GiB, or an int", what));
  return scope.Poison(expr.range);
}

ExprId ResolveIndexRange(Scope& scope, syntax::ExprId id) {
  Value value = ResolveCompileTime(scope, id, "the index of an array of places");
  if (value.type.known() && value.type.kind != StaticType::kList) {
    scope.Report(Code::kE0416, scope.Written(id).range,
                 fmt::format("the index of an array of places goes over a range, 0..n; this is {}",
                             scope.Describe(value.type)));
  }
  return value.id;
}

}  // namespace cgraph::check
