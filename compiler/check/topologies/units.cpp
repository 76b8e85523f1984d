#include "compiler/check/topologies/units.h"

#include <fmt/format.h>

#include "compiler/check/expressions/resolve.h"
#include "llvm/ADT/STLExtras.h"

namespace cgraph::check {
namespace {

// Counts how often the unit is a factor of a value: once in 23.3GB/s * 2, not at all in 3. Nothing
// where that cannot be said, or where another unit stands in the value.
class Power {
 public:
  Power(const Scope& scope, PropertyUnit unit) : scope_(scope), unit_(unit) {}

  std::optional<int> Of(syntax::ExprId id) const {
    return std::visit(llvm::makeVisitor(
                          [&](const syntax::QuantityLiteral& node) { return OfQuantity(node); },
                          [&](const syntax::Unary& node) { return Of(node.operand); },
                          [&](const syntax::Chain& node) { return OfChain(node); },
                          [&](const syntax::IfExpr& node) {
                            return Same({node.then_value, node.else_value});
                          },
                          [&](const syntax::ListExpr& node) { return Same(node.items); },
                          [&](const syntax::IndexExpr& node) { return Of(node.base); },
                          [](const auto&) { return std::optional<int>(0); }),
                      scope_.Written(id).node);
  }

 private:
  std::optional<int> OfQuantity(const syntax::QuantityLiteral& node) const {
    const UnitTraits* unit = FindUnit(node.unit);
    if (unit == nullptr || unit->unit != unit_) return std::nullopt;
    return 1;
  }
  std::optional<int> Same(const std::vector<syntax::ExprId>& ids) const {
    std::optional<int> power = ids.empty() ? 0 : Of(ids[0]);
    for (syntax::ExprId id : ids) {
      if (Of(id) != power) return std::nullopt;
    }
    return power;
  }
  std::optional<int> OfChain(const syntax::Chain& node) const {
    const BinaryOperator first = node.operators[0];
    const bool factors = first == BinaryOperator::kMultiply || first == BinaryOperator::kDivide;
    if (!factors) return Same(node.operands);
    std::optional<int> power = Of(node.operands[0]);
    for (size_t i = 0; i < node.operators.size() && power; ++i) {
      const std::optional<int> next = Of(node.operands[i + 1]);
      if (!next) return std::nullopt;
      *power += node.operators[i] == BinaryOperator::kDivide ? -*next : *next;
    }
    return power;
  }

  const Scope& scope_;
  const PropertyUnit unit_;
};

const char* ExampleOf(PropertyUnit unit) {
  switch (unit) {
    case PropertyUnit::kBytes: return "a number of bytes, such as 16GiB";
    case PropertyUnit::kFlops: return "operations in a second, such as 15.7TFLOPS";
    case PropertyUnit::kTime: return "a time, such as 1.3us";
    case PropertyUnit::kBandwidth: return "bytes in a second, such as 23.3GB/s";
    case PropertyUnit::kNumber: return "an int, such as 2";
    case PropertyUnit::kText: return "a text";
    case PropertyUnit::kResources: return "a resource, or a list of them";
  }
  return "";
}

}  // namespace

Value ResolveQuantity(Scope& scope, syntax::ExprId id, TopologyProperty property) {
  const PropertyTraits& traits = TraitsOf(property);
  if (traits.unit == PropertyUnit::kNumber) return ResolveInt(scope, id, traits.name);
  const Range range = scope.Written(id).range;
  if (traits.unit == PropertyUnit::kText) {
    Value value = ResolveCompileTime(scope, id, traits.name);
    if (!value.type.known() || value.type.kind == StaticType::kStr) return value;
    scope.Report(Code::kE0432, range, fmt::format("`{}` is a text in quotes", traits.name));
    return scope.Poison(range);
  }
  scope.unit = traits.unit;
  Value value = ResolveCompileTime(scope, id, traits.name);
  scope.unit.reset();
  if (Power(scope, traits.unit).Of(id) == 1) return value;
  scope.Report(Code::kE0432, range, fmt::format("`{}` is {}", traits.name, ExampleOf(traits.unit)));
  return scope.Poison(range);
}

}  // namespace cgraph::check
