#include "compiler/check/expressions/resolve.h"

#include <fmt/format.h>

#include "compiler/check/expressions/resolve.h"
#include "compiler/check/expressions/visit.h"
#include "compiler/check/scope/scope.h"
#include "compiler/check/static_types/match.h"
#include "compiler/program/text.h"

namespace cgraph::check {

using namespace program;

namespace {

bool IsLogical(BinaryOperator op) {
  return op == BinaryOperator::kOr || op == BinaryOperator::kAnd;
}

bool CanBeOperand(const StaticType& type) {
  return type.kind == StaticType::kTensor || type.is_number() || type.kind == StaticType::kBool;
}

// Returns what an operand consists of; what is not known is taken for what the `other` is.
Parts PartsOf(const StaticType& type, const StaticType& other) {
  if (!type.known()) return other.known() ? PartsOf(other, other) : Parts::kNone;
  if (type.kind == StaticType::kTuple) return Parts::kTuple;
  if (type.kind != StaticType::kList) return Parts::kNone;
  return type.parts[0].kind == StaticType::kTuple ? Parts::kListOfTuples : Parts::kList;
}

StaticType RefuseOperands(Scope& scope, BinaryOperator op, const StaticType& a, const StaticType& b,
                          Range range, std::string mend) {
  if (mend.empty()) mend = ArithmeticOfParts(op, PartsOf(a, b), PartsOf(b, a));
  scope.Report(Code::kE0409, range,
               fmt::format("`{}` does not take {} and {}{}", Spelling(op), scope.Describe(a),
                           scope.Describe(b), mend.empty() ? "" : "; " + mend));
  return StaticType();
}

// Says, behind a semicolon, how the operands could be made to fit.
std::string OperandMend(BinaryOperator op, const StaticType& a, const StaticType& b) {
  if (op == BinaryOperator::kMatmul && b.rank == 1) {
    return "; `@` takes matrices: unsqueeze(v, dim: 1) makes a column of the vector on the right, "
           "and squeeze(..., dim: 1) a vector of the result";
  }
  if (op == BinaryOperator::kMatmul && a.rank == 1) {
    return "; `@` takes matrices: unsqueeze(v, dim: 0) makes a row of the vector on the left, and "
           "squeeze(..., dim: 0) a vector of the result";
  }
  const StaticType& tensor = a.kind == StaticType::kTensor ? a : b;
  const bool integers = tensor.kind == StaticType::kTensor && tensor.dtype &&
                        ClassOf(*tensor.dtype) == DTypeClass::kInteger;
  const bool with_float = a.kind == StaticType::kFloat || b.kind == StaticType::kFloat;
  return integers && with_float ? "; cast<f32>(x) makes floats of integers" : "";
}

StaticType TensorOperator(Scope& scope, BinaryOperator op, const StaticType& a, const StaticType& b,
                          Range range) {
  if ((a.known() && !CanBeOperand(a)) || (b.known() && !CanBeOperand(b))) {
    return RefuseOperands(scope, op, a, b, range, "");
  }
  OpId id = scope.program.operator_ops[op];
  if (!id.valid() || scope.program.ops[id].signature.parameters.size() < 2) return StaticType();
  const Signature& signature = scope.program.ops[id].signature;
  Matcher matcher(scope.program, &signature, false);
  // Numbers take the dtype of the other operand, so that one is matched first.
  bool a_first = a.kind == StaticType::kTensor;
  for (bool first : {a_first, !a_first}) {
    auto mismatch = matcher.Match(signature.parameters[first ? 0 : 1].type, first ? a : b);
    if (!mismatch) continue;
    scope
        .Report(mismatch->code, range,
                fmt::format("`{}` does not take {} and {}: {}{}", Spelling(op), scope.Describe(a),
                            scope.Describe(b), mismatch->reason, OperandMend(op, a, b)))
        .AddNote(scope.program.ops[id].range,
                 fmt::format("it stands for the op `{}`", scope.program.ops[id].name));
    return StaticType();
  }
  return signature.result.valid() ? matcher.Bound(signature.result) : StaticType();
}

StaticType UnaryType(Scope& scope, const syntax::Unary& node, const StaticType& operand,
                     Range range) {
  if (!operand.known()) return StaticType();
  if (operand.kind == StaticType::kTensor) {
    OpId id = node.is_not ? scope.program.not_op : scope.program.negate_op;
    if (!id.valid() || scope.program.ops[id].signature.parameters.empty()) return StaticType();
    const Signature& signature = scope.program.ops[id].signature;
    Matcher matcher(scope.program, &signature, false);
    auto mismatch = matcher.Match(signature.parameters[0].type, operand);
    if (!mismatch) return operand;
    scope.Report(mismatch->code, range,
                 fmt::format("`{}` does not take {}: {}", node.is_not ? "not" : "-",
                             scope.Describe(operand), mismatch->reason));
    return StaticType();
  }
  if (node.is_not ? operand.kind == StaticType::kBool : operand.is_number()) return operand;
  const std::string mend = node.is_not ? "" : NegationOfParts(PartsOf(operand, operand));
  scope.Report(
      Code::kE0409, range,
      fmt::format("`{}` does not take {}{}", node.is_not ? "not" : "-", scope.Describe(operand),
                  mend.empty() ? "" : "; " + mend));
  return StaticType();
}

}  // namespace

StaticType BinaryType(Scope& scope, BinaryOperator op, const StaticType& a, const StaticType& b,
                      Range range) {
  if (op == BinaryOperator::kRange) {
    bool ints =
        (a.kind == StaticType::kInt || !a.known()) && (b.kind == StaticType::kInt || !b.known());
    if (!ints)
      return RefuseOperands(scope, op, a, b, range, "the ends of a range are compile-time ints");
    return StaticType::List(StaticType::Of(StaticType::kInt));
  }
  if (a.kind == StaticType::kTensor || b.kind == StaticType::kTensor) {
    return TensorOperator(scope, op, a, b, range);
  }
  if (!a.known() || !b.known()) {
    const StaticType& other = a.known() ? a : b;
    bool fits = !other.known() || CanBeOperand(other) || IsEquality(op) ||
                (op == BinaryOperator::kAdd && other.kind == StaticType::kList);
    return fits ? StaticType() : RefuseOperands(scope, op, a, b, range, "");
  }
  if (a.is_number() && b.is_number()) {
    if (IsComparison(op)) return StaticType::Of(StaticType::kBool);
    if (IsLogical(op)) return RefuseOperands(scope, op, a, b, range, "its operands are bools");
    if (op == BinaryOperator::kMatmul) {
      return RefuseOperands(scope, op, a, b, range, "it multiplies matrices");
    }
    bool both_int = a.kind == StaticType::kInt && b.kind == StaticType::kInt;
    return StaticType::Of(both_int ? StaticType::kInt : StaticType::kFloat);
  }
  if (a.kind == StaticType::kBool && b.kind == StaticType::kBool &&
      (IsLogical(op) || IsEquality(op))) {
    return a;
  }
  if (a.kind == StaticType::kList && b.kind == StaticType::kList && op == BinaryOperator::kAdd) {
    return StaticType::List(Join(a.parts[0], b.parts[0]));
  }
  if (a.kind == b.kind && IsEquality(op)) return StaticType::Of(StaticType::kBool);
  bool strings = a.kind == StaticType::kStr && op == BinaryOperator::kAdd;
  return RefuseOperands(scope, op, a, b, range,
                        strings ? "strings are put together by interpolation: \"{a}{b}\"" : "");
}

Value Visit(Scope& scope, const syntax::Unary& node, Range range) {
  Value operand = ResolveValue(scope, node.operand);
  StaticType type = UnaryType(scope, node, operand.type, range);
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
  StaticType type = std::move(first.type);
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
