#include "compiler/check/expressions/operators.h"

#include <fmt/format.h>

#include "compiler/check/expressions/resolve.h"
#include "compiler/check/expressions/visit.h"
#include "compiler/check/known/match.h"
#include "compiler/check/scope/scope.h"

namespace cgraph::check {

using namespace program;

namespace {

bool IsComparison(BinaryOperator op) {
  return op >= BinaryOperator::kEqual && op <= BinaryOperator::kGreaterEqual;
}

bool IsEquality(BinaryOperator op) {
  return op == BinaryOperator::kEqual || op == BinaryOperator::kNotEqual;
}

bool IsLogical(BinaryOperator op) {
  return op == BinaryOperator::kOr || op == BinaryOperator::kAnd;
}

bool CanBeOperand(const Static& type) {
  return type.kind == Static::kTensor || type.is_number() || type.kind == Static::kBool;
}

Static RefuseOperands(Scope& scope, BinaryOperator op, const Static& a, const Static& b,
                      Range range, const std::string& mend) {
  scope.Report(Code::kE0409, range,
               fmt::format("`{}` does not take {} and {}{}", Spelling(op), scope.Describe(a),
                           scope.Describe(b), mend.empty() ? "" : "; " + mend));
  return Static();
}

Static TensorOperator(Scope& scope, BinaryOperator op, const Static& a, const Static& b,
                      Range range) {
  if ((a.known() && !CanBeOperand(a)) || (b.known() && !CanBeOperand(b))) {
    return RefuseOperands(scope, op, a, b, range, "");
  }
  OpId id = scope.program.operator_ops[op];
  if (!id.valid() || scope.program.ops[id].signature.parameters.size() < 2) return Static();
  const Signature& signature = scope.program.ops[id].signature;
  Matcher matcher(scope.program, &signature, false);
  // Numbers take the dtype of the other operand, so that one is matched first.
  bool a_first = a.kind == Static::kTensor;
  for (bool first : {a_first, !a_first}) {
    auto mismatch = matcher.Match(signature.parameters[first ? 0 : 1].type, first ? a : b);
    if (!mismatch) continue;
    const bool vector = op == BinaryOperator::kMatmul && (a.rank == 1 || b.rank == 1);
    scope
        .Report(mismatch->code, range,
                fmt::format("`{}` does not take {} and {}: {}{}", Spelling(op), scope.Describe(a),
                            scope.Describe(b), mismatch->reason,
                            vector ? "; unsqueeze(x, dim: 0) makes a vector a matrix of one row"
                                   : ""))
        .AddNote(scope.program.ops[id].range,
                 fmt::format("it stands for the op `{}`", scope.program.ops[id].name));
    return Static();
  }
  return signature.result.valid() ? matcher.Bound(signature.result) : Static();
}

Static UnaryType(Scope& scope, const syntax::Unary& node, const Static& operand, Range range) {
  if (!operand.known()) return Static();
  if (operand.kind == Static::kTensor) {
    OpId id = node.is_not ? scope.program.not_op : scope.program.negate_op;
    if (!id.valid() || scope.program.ops[id].signature.parameters.empty()) return Static();
    const Signature& signature = scope.program.ops[id].signature;
    Matcher matcher(scope.program, &signature, false);
    auto mismatch = matcher.Match(signature.parameters[0].type, operand);
    if (!mismatch) return operand;
    scope.Report(mismatch->code, range,
                 fmt::format("`{}` does not take {}: {}", node.is_not ? "not" : "-",
                             scope.Describe(operand), mismatch->reason));
    return Static();
  }
  if (node.is_not ? operand.kind == Static::kBool : operand.is_number()) return operand;
  scope.Report(
      Code::kE0409, range,
      fmt::format("`{}` does not take {}", node.is_not ? "not" : "-", scope.Describe(operand)));
  return Static();
}

}  // namespace

Static BinaryType(Scope& scope, BinaryOperator op, const Static& a, const Static& b, Range range) {
  if (op == BinaryOperator::kRange) {
    bool ints = (a.kind == Static::kInt || !a.known()) && (b.kind == Static::kInt || !b.known());
    if (!ints)
      return RefuseOperands(scope, op, a, b, range, "the ends of a range are compile-time ints");
    return Static::List(Static::Of(Static::kInt));
  }
  if (a.kind == Static::kTensor || b.kind == Static::kTensor) {
    return TensorOperator(scope, op, a, b, range);
  }
  if (!a.known() || !b.known()) {
    const Static& other = a.known() ? a : b;
    bool fits = !other.known() || CanBeOperand(other) || IsEquality(op) ||
                (op == BinaryOperator::kAdd && other.kind == Static::kList);
    return fits ? Static() : RefuseOperands(scope, op, a, b, range, "");
  }
  if (a.is_number() && b.is_number()) {
    if (IsComparison(op)) return Static::Of(Static::kBool);
    if (IsLogical(op)) return RefuseOperands(scope, op, a, b, range, "its operands are bools");
    if (op == BinaryOperator::kMatmul) {
      return RefuseOperands(scope, op, a, b, range, "it multiplies matrices");
    }
    bool both_int = a.kind == Static::kInt && b.kind == Static::kInt;
    return Static::Of(both_int ? Static::kInt : Static::kFloat);
  }
  if (a.kind == Static::kBool && b.kind == Static::kBool && (IsLogical(op) || IsEquality(op))) {
    return a;
  }
  if (a.kind == Static::kList && b.kind == Static::kList && op == BinaryOperator::kAdd) {
    return Static::List(Join(a.parts[0], b.parts[0]));
  }
  if (a.kind == b.kind && IsEquality(op)) return Static::Of(Static::kBool);
  bool strings = a.kind == Static::kStr && op == BinaryOperator::kAdd;
  return RefuseOperands(scope, op, a, b, range,
                        strings ? "strings are put together by interpolation: \"{a}{b}\"" : "");
}

Value Visit(Scope& scope, const syntax::Unary& node, Range range) {
  Value operand = ResolveValue(scope, node.operand);
  Static type = UnaryType(scope, node, operand.type, range);
  return scope.Make(Unary{node.is_not, operand.id}, range, std::move(type));
}

Value Visit(Scope& scope, const syntax::Chain& node, Range range) {
  Chain resolved;
  resolved.operator_ranges = node.operator_ranges;
  // An op may ask whether two runs of dimensions are the same.
  bool of_runs =
      scope.site == Site::kOp && node.operators.size() == 1 && IsEquality(node.operators[0]);
  auto resolve = [&](syntax::ExprId id) {
    return of_runs ? Resolve(scope, id) : ResolveValue(scope, id);
  };
  Value first = resolve(node.operands[0]);
  resolved.operands.push_back(first.id);
  Static type = std::move(first.type);
  for (size_t i = 0; i < node.operators.size(); ++i) {
    Value next = resolve(node.operands[i + 1]);
    BinaryOperator op = node.operators[i];
    resolved.operands.push_back(next.id);
    resolved.operators.push_back(op);
    type = BinaryType(scope, op, type, next.type, node.operator_ranges[i]);
  }
  return scope.Make(std::move(resolved), range, std::move(type));
}

Value Visit(Scope& scope, const syntax::IfExpr& node, Range range) {
  If resolved;
  resolved.condition = ResolveCondition(scope, node.condition).id;
  Value then_value = ResolveValue(scope, node.then_value);
  Value else_value = ResolveValue(scope, node.else_value);
  resolved.then_value = then_value.id;
  resolved.else_value = else_value.id;
  return scope.Make(resolved, range, Join(then_value.type, else_value.type));
}

}  // namespace cgraph::check
