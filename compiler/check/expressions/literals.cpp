// Literals and names by themselves.
#include "compiler/check/expressions/resolve.h"
#include "compiler/check/expressions/visit.h"
#include "compiler/check/scope/lookup.h"
#include "compiler/check/scope/scope.h"

namespace cgraph::check {

using namespace program;

Value Visit(Scope& scope, const syntax::IntLiteral& node, Range range) {
  return scope.Make(IntLiteral{node.value}, range, StaticType::Of(StaticType::kInt));
}

Value Visit(Scope& scope, const syntax::FloatLiteral& node, Range range) {
  return scope.Make(FloatLiteral{node.value}, range, StaticType::Of(StaticType::kFloat));
}

Value Visit(Scope& scope, const syntax::BoolLiteral& node, Range range) {
  return scope.Make(BoolLiteral{node.value}, range, StaticType::Of(StaticType::kBool));
}

Value Visit(Scope& scope, const syntax::NameExpr& node, Range range) {
  return ResolveName(scope, node.name, range);
}

Value Visit(Scope& scope, const syntax::QuantityLiteral& node, Range range) {
  const UnitTraits* unit = FindUnit(node.unit);
  if (scope.unit && unit != nullptr && unit->unit == *scope.unit) {
    return scope.Make(FloatLiteral{node.value * unit->factor}, range,
                      StaticType::Of(StaticType::kFloat));
  }
  if (!scope.unit) {  // else said of the property as a whole
    scope.Report(Code::kE0425, range,
                 "a number with a unit can stand in a graph's `timeout`, in a schedule's "
                 "`memory <=` and in the properties of a topology only");
  }
  return scope.Poison(range);
}

Value Visit(Scope& scope, const syntax::StringLiteral& node, Range range) {
  StringLiteral resolved;
  resolved.texts = node.texts;
  for (syntax::ExprId id : node.exprs) {
    resolved.exprs.push_back(ResolveCompileTime(scope, id, "what a string takes in").id);
  }
  return scope.Make(std::move(resolved), range, StaticType::Of(StaticType::kStr));
}

}  // namespace cgraph::check
