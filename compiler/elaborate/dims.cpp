// Declared dimensions to concrete ones, and the functions of dimensions.
//
// A dimension is an integer expression, evaluated like any other but with exact division; or a name
// that stands for an extent, perhaps one that is known only while running; or a run of dimensions.
#include "compiler/base/limits.h"
#include "compiler/elaborate/arithmetic.h"
#include "compiler/elaborate/elaborator.h"
#include "fmt/format.h"
#include "llvm/Support/SaveAndRestore.h"

namespace cgraph::elaboration {

// Whether everything that a dimension's expression mentions has a value.
bool Elaborator::IsKnown(program::ExprId id, const Frame& frame) const {
  const auto& node = program_.exprs[id].node;
  auto all_known = [&](auto&& ids) {
    return llvm::all_of(ids, [&](program::ExprId operand) { return IsKnown(operand, frame); });
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
  if (auto* unary = std::get_if<program::Unary>(&node)) return IsKnown(unary->operand, frame);
  if (auto* chain = std::get_if<program::Chain>(&node)) return all_known(chain->operands);
  if (auto* choice = std::get_if<program::If>(&node)) {
    return all_known(std::initializer_list<program::ExprId>{
        choice->condition, choice->then_value, choice->else_value});
  }
  if (auto* call = std::get_if<program::CallBuiltin>(&node)) {
    return llvm::all_of(call->arguments,
                        [&](const auto& argument) { return IsKnown(argument.value, frame); });
  }
  return true;
}

bool Elaborator::IsKnown(const program::TensorType& type, const Frame& frame) const {
  if (!type.dtype && !frame.generics[type.generic.index]) return false;
  return llvm::all_of(type.dims, [&](const program::Dim& dim) {
    if (dim.variable.valid()) return frame.dims[dim.variable.index].has_value();
    return !dim.extent.valid() && IsKnown(dim.expr, frame);
  });
}

// Follows conditions that are known: `if transpose { k } else { m }` is the dimension it chooses.
program::ExprId Elaborator::Reduce(program::ExprId id, Frame& frame) {
  auto* choice = std::get_if<program::If>(&program_.exprs[id].node);
  if (!choice || !IsKnown(choice->condition, frame)) return id;
  std::optional<bool> condition = EvaluateCondition(choice->condition, frame);
  if (!condition) return id;
  return Reduce(*condition ? choice->then_value : choice->else_value, frame);
}

std::optional<int64_t> Elaborator::EvaluateDimInt(program::ExprId id, Frame& frame,
                                                  const char* what) {
  llvm::SaveAndRestore<Mode> exact(mode_, Mode::kDims);
  std::optional<int64_t> extent = EvaluateInt(id, frame, what);
  if (!extent || *extent >= 0) return extent;
  Report(Code::kE0504, program_.exprs[id].range, fmt::format("{} of {} is negative", what, *extent));
  return std::nullopt;
}

std::optional<graph::Dim> Elaborator::EvaluateDim(program::ExprId id, Frame& frame) {
  id = Reduce(id, frame);
  if (auto* name = std::get_if<program::DimRef>(&program_.exprs[id].node)) {
    const std::optional<BoundDims>& bound = frame.dims[name->variable.index];
    if (bound && bound->dims.size() == 1) return bound->dims[0];
  }
  std::optional<int64_t> extent = EvaluateDimInt(id, frame, "a dimension");
  if (!extent) return std::nullopt;
  return graph::Dim{*extent, {}};
}

// `length <= n` in an op's result: the extent is what the i64 argument says. Known while compiling
// it is a static dimension, else a symbol.
std::optional<graph::Dim> Elaborator::BoundedDim(const program::Dim& dim, Frame& frame) {
  if (dim.variable.valid() && frame.dims[dim.variable.index]) {
    return frame.dims[dim.variable.index]->dims[0];
  }
  std::optional<graph::Dim> limit = EvaluateDim(dim.expr, frame);
  if (!limit) return std::nullopt;
  Value extent = dim.extent.valid() ? Evaluate(dim.extent, frame) : Value(None());
  std::optional<int64_t> number;
  if (const int64_t* known = extent.As<int64_t>()) number = *known;
  const Tensor* tensor = extent.As<Tensor>();
  if (tensor && builder_->value(tensor->value).storage == graph::Value::kConstant) {
    number = DecodeI64(builder_->value(tensor->value).constant);
  }
  if (number && *number >= 0 && *number <= limit->extent) return graph::Dim{*number, {}};
  if (number) {
    Report(Code::kE0511, SiteOr(dim.range),
           fmt::format("an extent of {} is outside 0..{}", *number, limit->extent));
    return std::nullopt;
  }
  if (tensor && builder_->type(tensor->value) == graph::Type{DType::kI64, {}}) {
    std::string name = "extent";
    if (auto* local = std::get_if<program::LocalRef>(&program_.exprs[dim.extent].node)) {
      name = (*frame.names)[local->local].name;
    }
    return graph::Dim{limit->extent,
                      builder_->SymbolOf(tensor->value, limit->extent, name)};
  }
  Report(Code::kE0509, dim.range, "nothing says what this extent is: it needs an i64 parameter");
  return std::nullopt;
}

std::optional<Dims> Elaborator::EvaluateDims(const std::vector<program::Dim>& dims, Frame& frame) {
  Dims result;
  for (const program::Dim& dim : dims) {
    std::optional<graph::Dim> extent;
    switch (dim.kind) {
      case program::Dim::kExpr:
        extent = EvaluateDim(dim.expr, frame);
        break;
      case program::Dim::kVariable: {
        const std::optional<BoundDims>& bound = frame.dims[dim.variable.index];
        if (!bound) {
          Report(Code::kE0509, dim.range,
                 fmt::format("dimension `{}` has no extent and no bound; write `{} <= LIMIT`",
                             frame.signature->dim_variables[dim.variable].name,
                             frame.signature->dim_variables[dim.variable].name));
          return std::nullopt;
        }
        extent = bound->dims[0];
        break;
      }
      case program::Dim::kBounded:
        extent = BoundedDim(dim, frame);
        break;
      case program::Dim::kRun: {
        std::optional<Dims> run;
        if (!dim.variable.valid()) {
          run = EvaluateRun(dim.expr, frame);
        } else if (const std::optional<BoundDims>& bound = frame.dims[dim.variable.index]) {
          run = bound->dims;
        }
        if (!run) return std::nullopt;
        result.append(run->begin(), run->end());
        continue;
      }
    }
    if (!extent) return std::nullopt;
    result.push_back(*extent);
  }
  return result;
}

std::optional<Dims> Elaborator::EvaluateRun(program::ExprId id, Frame& frame) {
  const program::Expr& expr = program_.exprs[id];
  if (auto* name = std::get_if<program::DimRef>(&expr.node)) {
    if (const auto& bound = frame.dims[name->variable.index]) return bound->dims;
    Report(Code::kE0509, expr.range,
           fmt::format("nothing binds the dimensions `{}`",
                       frame.signature->dim_variables[name->variable].name));
    return std::nullopt;
  }
  if (std::holds_alternative<program::LocalRef>(expr.node)) return ListedRun(id, frame);
  auto* call = std::get_if<program::CallBuiltin>(&expr.node);
  bool of_runs = call && call->arguments.size() == 2 &&
                 (call->builtin == program::Builtin::kBroadcast ||
                  call->builtin == program::Builtin::kPermuted ||
                  call->builtin == program::Builtin::kDrop);
  if (!of_runs) {
    Report(Code::kE0406, expr.range, "a run of dimensions is needed here");
    return std::nullopt;
  }
  std::optional<Dims> run = EvaluateRun(call->arguments[0].value, frame);
  if (!run) return std::nullopt;
  if (call->builtin == program::Builtin::kDrop) {
    return Drop(*run, call->arguments[1].value, frame, expr.range);
  }
  if (call->builtin == program::Builtin::kPermuted) {
    return Permuted(*run, call->arguments[1].value, frame, expr.range);
  }
  std::optional<Dims> other = EvaluateRun(call->arguments[1].value, frame);
  return other ? Broadcast(*run, *other, frame, expr.range) : std::nullopt;
}

// The ints of a list parameter.
std::optional<std::vector<int64_t>> Elaborator::ListedInts(program::ExprId id, Frame& frame) {
  std::optional<std::vector<Value>> items =
      ListItems(Evaluate(id, frame), SiteOr(program_.exprs[id].range));
  if (!items) return std::nullopt;
  std::vector<int64_t> ints;
  for (const Value& item : *items) {
    const int64_t* number = item.As<int64_t>();
    if (!number) return std::nullopt;
    ints.push_back(*number);
  }
  return ints;
}

// A run of dimensions that a list parameter gives: `reshape(x, [2, 3])`.
std::optional<Dims> Elaborator::ListedRun(program::ExprId id, Frame& frame) {
  std::optional<std::vector<int64_t>> extents = ListedInts(id, frame);
  if (!extents) return std::nullopt;
  Dims run;
  for (int64_t extent : *extents) {
    if (extent < 0) {
      Report(Code::kE0504, SiteOr(program_.exprs[id].range),
             fmt::format("`{}`: a dimension of {} is negative", frame.subject, extent));
      return std::nullopt;
    }
    run.push_back(graph::Dim{extent, {}});
  }
  return run;
}

// Dimension i is dimension order[i] of the run.
std::optional<Dims> Elaborator::Permuted(const Dims& run, program::ExprId order, Frame& frame,
                                         Range range) {
  std::optional<std::vector<int64_t>> numbers = ListedInts(order, frame);
  if (!numbers) return std::nullopt;
  std::vector<int64_t> sorted = *numbers;
  llvm::sort(sorted);
  bool each_once = sorted.size() == run.size();
  for (size_t i = 0; each_once && i < sorted.size(); ++i) {
    each_once = sorted[i] == static_cast<int64_t>(i);
  }
  if (!each_once) {
    Report(Code::kE0511, SiteOr(range),
           fmt::format("`{}`: [{}] does not name each of the {} dimensions once, counted from 0",
                       frame.subject, fmt::join(*numbers, ", "), run.size()));
    return std::nullopt;
  }
  Dims permuted;
  for (int64_t number : *numbers) permuted.push_back(run[static_cast<size_t>(number)]);
  return permuted;
}

// NumPy's rule: aligned at the last dimension, equal or 1.
std::optional<Dims> Elaborator::Broadcast(const Dims& a, const Dims& b, Frame& frame, Range range) {
  Dims result(std::max(a.size(), b.size()));
  const graph::Dim one{1, {}};
  for (size_t i = 0; i < result.size(); ++i) {  // from the last dimension
    const graph::Dim& x = i < a.size() ? a[a.size() - 1 - i] : one;
    const graph::Dim& y = i < b.size() ? b[b.size() - 1 - i] : one;
    if (x != y && x != one && y != one) {
      auto text = [&](const Dims& dims) {
        graph::Type type{DType::kF32, {dims.begin(), dims.end()}};
        return Text(type).substr(3);
      };
      bool dynamic = x.symbol.valid() || y.symbol.valid();
      Report(dynamic ? Code::kE0508 : Code::kE0507, SiteOr(range),
             fmt::format("`{}`: shapes {} and {} do not broadcast: counted from the last, "
                         "dimension {} differs and neither is 1{}",
                         frame.subject, text(a), text(b), i + 1,
                         dynamic ? kOneValue : ""));
      return std::nullopt;
    }
    result[result.size() - 1 - i] = x == one ? y : x;
  }
  return result;
}

std::optional<Dims> Elaborator::Drop(const Dims& run, program::ExprId index, Frame& frame,
                                     Range range) {
  std::optional<int64_t> dim = EvaluateInt(index, frame, "a dimension's index");
  if (!dim) return std::nullopt;
  if (*dim < 0 || *dim >= static_cast<int64_t>(run.size())) {
    Report(Code::kE0511, SiteOr(range),
           fmt::format("`{}` has no dimension {} to work on: there are {}, counted from 0, or from "
                       "-1 at the end",
                       frame.subject, *dim, run.size()));
    return std::nullopt;
  }
  Dims rest = run;
  rest.erase(rest.begin() + *dim);
  return rest;
}

std::optional<graph::Type> Elaborator::ConcreteType(const program::TensorType& type, Frame& frame,
                                                    Range range) {
  std::optional<Dims> dims = EvaluateDims(type.dims, frame);
  std::optional<DType> dtype = type.dtype;
  if (!dtype && frame.generics[type.generic.index]) {
    dtype = frame.generics[type.generic.index]->dtype;
  }
  if (!dims || !dtype) return std::nullopt;
  graph::Type concrete{*dtype, {dims->begin(), dims->end()}};
  if (!CheckTensorLimits(concrete, range)) return std::nullopt;
  return concrete;
}

// The tensor type that is expected, when everything in it has a value.
const program::Type* Elaborator::ExpectedTensor(const Expected& expected) const {
  if (!expected.valid()) return nullptr;
  const program::Type& type = program_.types[expected.type];
  auto* tensor = std::get_if<program::TensorType>(&type.node);
  return tensor && IsKnown(*tensor, *expected.frame) ? &type : nullptr;
}

bool Elaborator::CheckTensorLimits(const graph::Type& type, Range range) {
  if (type.dims.size() > static_cast<size_t>(kMaxRank)) {
    Report(Code::kE0523, range,
           fmt::format("a tensor of {} dimensions: at most {} are possible", type.dims.size(),
                       kMaxRank));
    return false;
  }
  if (type.bytes() > kMaxTensorBytes) {
    Report(Code::kE0524, range,
           fmt::format("{} has more than {} bytes, the limit of one tensor",
                       Text(type), kMaxTensorBytes));
    return false;
  }
  return true;
}

// size, rank and width: dimensions as numbers.
Value Elaborator::DimFunction(const program::CallBuiltin& e, const Context& context) {
  program::ExprId argument = e.arguments[0].value;
  if (e.builtin == program::Builtin::kWidth) {
    auto* generic = std::get_if<program::GenericRef>(&program_.exprs[argument].node);
    if (generic && context.frame.generics[generic->generic.index]) {
      return Value(DTypeBytes(context.frame.generics[generic->generic.index]->dtype));
    }
    Report(Code::kE0406, context.range, "width() is of a dtype variable of the signature");
    return Value();
  }
  std::optional<Dims> run = EvaluateRun(argument, context.frame);
  if (!run) return Value();
  if (e.builtin == program::Builtin::kRank) return Value(static_cast<int64_t>(run->size()));
  graph::Type type{DType::kU8, {run->begin(), run->end()}};
  bool is_static = llvm::none_of(*run, [](const graph::Dim& dim) { return dim.symbol.valid(); });
  if (is_static || mode_ == Mode::kCost) return Value(type.elements());
  Report(Code::kE0508, context.range, "size() of dimensions that are known only while running");
  return Value();
}

}  // namespace cgraph::elaboration
