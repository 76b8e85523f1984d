#include "compiler/elaborate/types/dims.h"

#include <fmt/format.h>

#include "compiler/elaborate/budget.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/values/arithmetic.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SaveAndRestore.h"

namespace cgraph::elaborate {
namespace {

// Resolves `length <= n` in an op's result: the extent is the value of the i64 argument. If it is
// known while compiling it is a static dimension, else a symbol.
std::optional<graph::Dim> BoundedDim(ElaborationContext& elaboration, const program::Dim& dim,
                                     Frame& frame) {
  if (dim.variable.valid() && frame.dims[dim.variable.index]) {
    return frame.dims[dim.variable.index]->dims[0];
  }
  std::optional<graph::Dim> limit = EvaluateDim(elaboration, dim.expr, frame);
  if (!limit) return std::nullopt;
  Value extent = dim.extent.valid() ? Evaluate(elaboration, dim.extent, frame) : Value(None());
  std::optional<int64_t> number;
  if (const int64_t* known = extent.As<int64_t>()) number = *known;
  const Tensor* tensor = extent.As<Tensor>();
  if (tensor && elaboration.builder->value(tensor->value).storage == graph::Value::kConstant) {
    number = DecodeI64(elaboration.builder->value(tensor->value).constant);
  }
  const bool unlimited = elaboration.speculative && limit->symbol.valid();
  if (number && *number >= 0 && (unlimited || *number <= limit->extent)) {
    return graph::Dim{*number, {}};
  }
  if (number) {
    Report(elaboration, Code::kE0511, SiteOr(elaboration, dim.range),
           fmt::format("an extent of {} is outside 0..{}", *number, limit->extent));
    return std::nullopt;
  }
  if (tensor && elaboration.builder->type(tensor->value) == graph::Type{DType::kI64, {}}) {
    std::string name = "extent";
    if (auto* local = std::get_if<program::LocalRef>(&elaboration.program.exprs[dim.extent].node)) {
      name = (*frame.names)[local->local].name;
    }
    return graph::Dim{limit->extent,
                      elaboration.builder->SymbolOf(tensor->value, limit->extent, name)};
  }
  Report(elaboration, Code::kE0509, dim.range,
         "nothing says what this extent is: it needs an i64 parameter");
  return std::nullopt;
}

std::optional<Dims> EvaluateDims(ElaborationContext& elaboration,
                                 const std::vector<program::Dim>& dims, Frame& frame) {
  Dims result;
  for (const program::Dim& dim : dims) {
    std::optional<graph::Dim> extent;
    switch (dim.kind) {
      case program::Dim::kExpr:
        extent = EvaluateDim(elaboration, dim.expr, frame);
        break;
      case program::Dim::kVariable: {
        const std::optional<BoundDims>& bound = frame.dims[dim.variable.index];
        if (!bound) {
          Report(elaboration, Code::kE0509, dim.range,
                 fmt::format("dimension `{}` has no extent and no bound; write `{} <= LIMIT`",
                             frame.signature->dim_variables[dim.variable].name,
                             frame.signature->dim_variables[dim.variable].name));
          return std::nullopt;
        }
        extent = bound->dims[0];
        break;
      }
      case program::Dim::kBounded:
        extent = BoundedDim(elaboration, dim, frame);
        break;
      case program::Dim::kRun: {
        std::optional<Dims> run;
        if (!dim.variable.valid()) {
          run = EvaluateRun(elaboration, dim.expr, frame);
        } else if (const std::optional<BoundDims>& bound = frame.dims[dim.variable.index]) {
          run = bound->dims;
        }
        if (!run) return std::nullopt;
        result.append(run->begin(), run->end());
        continue;
      }
      case program::Dim::kEach:  // Check refuses it outside of a parameter's type
        return std::nullopt;
    }
    if (!extent) return std::nullopt;
    result.push_back(*extent);
  }
  return result;
}

}  // namespace

bool IsKnown(const ElaborationContext& elaboration, program::ExprId id, const Frame& frame) {
  const auto& node = elaboration.program.exprs[id].node;
  auto all_known = [&](auto&& ids) {
    return llvm::all_of(
        ids, [&](program::ExprId operand) { return IsKnown(elaboration, operand, frame); });
  };
  if (auto* local = std::get_if<program::LocalRef>(&node)) {
    return frame.locals[local->local.index].has_value();
  }
  if (auto* dim = std::get_if<program::DimRef>(&node)) {
    return frame.dims[dim->variable.index].has_value();
  }
  if (auto* generic = std::get_if<program::GenericRef>(&node)) {
    return frame.generics[generic->generic.index].has_value();
  }
  if (auto* unary = std::get_if<program::Unary>(&node))
    return IsKnown(elaboration, unary->operand, frame);
  if (auto* chain = std::get_if<program::Chain>(&node)) return all_known(chain->operands);
  if (auto* choice = std::get_if<program::If>(&node)) {
    return all_known(std::initializer_list<program::ExprId>{choice->condition, choice->then_value,
                                                            choice->else_value});
  }
  if (auto* call = std::get_if<program::CallBuiltin>(&node)) {
    return llvm::all_of(call->arguments, [&](const auto& argument) {
      return IsKnown(elaboration, argument.value, frame);
    });
  }
  return true;
}

bool IsKnown(const ElaborationContext& elaboration, const program::TensorType& type,
             const Frame& frame) {
  if (!type.dtype && !frame.generics[type.generic.index]) return false;
  return llvm::all_of(type.dims, [&](const program::Dim& dim) {
    if (dim.kind == program::Dim::kEach) return false;
    if (dim.variable.valid()) return frame.dims[dim.variable.index].has_value();
    return !dim.extent.valid() && IsKnown(elaboration, dim.expr, frame);
  });
}

program::ExprId Reduce(ElaborationContext& elaboration, program::ExprId id, Frame& frame) {
  auto* choice = std::get_if<program::If>(&elaboration.program.exprs[id].node);
  if (!choice || !IsKnown(elaboration, choice->condition, frame)) return id;
  std::optional<bool> condition = EvaluateCondition(elaboration, choice->condition, frame);
  if (!condition) return id;
  return Reduce(elaboration, *condition ? choice->then_value : choice->else_value, frame);
}

std::optional<graph::Dim> DimOfExtent(const ElaborationContext& elaboration, const Value& value) {
  const Tensor* tensor = value.As<Tensor>();
  if (tensor == nullptr) return std::nullopt;
  const auto& symbols = elaboration.builder->graph().symbols;
  for (graph::SymbolId id : symbols.Ids()) {
    if (symbols[id].extent == tensor->value) return graph::Dim{symbols[id].bound, id};
  }
  return std::nullopt;
}

std::optional<graph::Dim> EvaluateDim(ElaborationContext& elaboration, program::ExprId id,
                                      Frame& frame) {
  id = Reduce(elaboration, id, frame);
  if (auto* local = std::get_if<program::LocalRef>(&elaboration.program.exprs[id].node)) {
    const std::optional<Value>& value = frame.locals[local->local.index];
    const std::optional<graph::Dim> dim = value ? DimOfExtent(elaboration, *value) : std::nullopt;
    if (dim && frame.takes_extents) return dim;
  }
  if (auto* name = std::get_if<program::DimRef>(&elaboration.program.exprs[id].node)) {
    const std::optional<BoundDims>& bound = frame.dims[name->variable.index];
    if (bound && bound->dims.size() == 1) return bound->dims[0];
  }
  std::optional<int64_t> extent = EvaluateDimInt(elaboration, id, frame, "a dimension");
  if (!extent) return std::nullopt;
  return graph::Dim{*extent, {}};
}

std::optional<int64_t> EvaluateDimInt(ElaborationContext& elaboration, program::ExprId id,
                                      Frame& frame, const char* what) {
  llvm::SaveAndRestore<ArithmeticMode> exact(elaboration.arithmetic, ArithmeticMode::kDims);
  std::optional<int64_t> extent = EvaluateInt(elaboration, id, frame, what);
  if (!extent || *extent >= 0) return extent;
  const Range range = elaboration.program.exprs[id].range;
  const bool written = elaboration.diagnostics.sources().Text(range) == "-1";
  Report(elaboration, Code::kE0504, range,
         fmt::format("{} of {} is negative{}", what, *extent,
                     written ? "; one whose extent varies has a name and a bound: n <= 4096" : ""));
  return std::nullopt;
}

std::optional<graph::Type> ConcreteType(ElaborationContext& elaboration,
                                        const program::TensorType& type, Frame& frame,
                                        Range range) {
  std::optional<Dims> dims = EvaluateDims(elaboration, type.dims, frame);
  std::optional<DType> dtype = type.dtype;
  if (!dtype && frame.generics[type.generic.index]) {
    dtype = frame.generics[type.generic.index]->dtype;
  }
  if (!dims || !dtype) return std::nullopt;
  graph::Type concrete{*dtype, {dims->begin(), dims->end()}};
  if (!CheckTensorLimits(elaboration, concrete, range)) return std::nullopt;
  return concrete;
}

const program::Type* ExpectedTensor(const ElaborationContext& elaboration,
                                    const Expected& expected) {
  if (!expected.valid()) return nullptr;
  const program::Type& type = elaboration.program.types[expected.type];
  auto* tensor = std::get_if<program::TensorType>(&type.node);
  return tensor && IsKnown(elaboration, *tensor, *expected.frame) ? &type : nullptr;
}

}  // namespace cgraph::elaborate
