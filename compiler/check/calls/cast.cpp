// cast<f16>(x).
#include <fmt/format.h>

#include "compiler/check/calls/arguments.h"
#include "compiler/check/expressions/visit.h"
#include "compiler/check/scope/scope.h"
#include "compiler/check/types/types.h"

namespace cgraph::check {

using namespace program;

Value Visit(Scope& scope, const syntax::CastExpr& node, Range range) {
  Cast resolved;
  resolved.type = ResolveType(scope, node.type, TypeRole::kArgument);
  const Type& type = scope.program.types[resolved.type];
  const auto* tensor = std::get_if<TensorType>(&type.node);
  bool dtype_only = tensor && tensor->dims.empty();
  if (!dtype_only) {
    scope.Report(Code::kE0410, type.range,
                 "`cast` takes a dtype without dimensions, such as cast<f16>(x): the shape stays");
  }
  Arguments given = ResolveArguments(scope, node.arguments);
  if (given.arguments.size() != 1 || !given.arguments[0].label.empty()) {
    scope.Report(given.arguments.empty() ? Code::kE0401 : Code::kE0402, range,
                 "`cast` takes one tensor: cast<f16>(x)");
    return scope.Poison(range);
  }
  resolved.operand = given.arguments[0].value;
  const StaticType& operand = given.types[0];
  bool castable = !operand.known() || operand.kind == StaticType::kTensor || operand.is_number() ||
                  operand.kind == StaticType::kBool;
  if (!castable) {
    scope.Report(
        Code::kE0406, range,
        fmt::format("`cast` converts tensors and numbers; this is {}", scope.Describe(operand)));
  }
  int rank = operand.kind == StaticType::kTensor ? operand.rank : operand.known() ? 0 : -1;
  StaticType result = StaticType::Tensor(dtype_only ? tensor->dtype : std::nullopt, rank);
  return scope.Make(resolved, range, result);
}

}  // namespace cgraph::check
