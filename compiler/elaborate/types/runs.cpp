#include "compiler/elaborate/types/dims.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/report.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/text.h"

namespace cgraph::elaborate {
namespace {

// Returns the ints of a list parameter.
std::optional<std::vector<int64_t>> ListedInts(ElaborationContext& elaboration, program::ExprId id,
                                               Frame& frame) {
  std::optional<std::vector<Value>> items =
      ListItems(elaboration, Evaluate(elaboration, id, frame),
                SiteOr(elaboration, elaboration.program.exprs[id].range));
  if (!items) return std::nullopt;
  std::vector<int64_t> ints;
  for (const Value& item : *items) {
    const int64_t* number = item.As<int64_t>();
    if (!number) return std::nullopt;
    ints.push_back(*number);
  }
  return ints;
}

// Returns a run of dimensions that a list parameter gives: `reshape(x, [2, 3])`.
std::optional<Dims> ListedRun(ElaborationContext& elaboration, program::ExprId id, Frame& frame) {
  std::optional<std::vector<int64_t>> extents = ListedInts(elaboration, id, frame);
  if (!extents) return std::nullopt;
  Dims run;
  for (int64_t extent : *extents) {
    if (extent < 0) {
      Report(elaboration, Code::kE0504, SiteOr(elaboration, elaboration.program.exprs[id].range),
             fmt::format("`{}`: a dimension of {} is negative", frame.subject, extent));
      return std::nullopt;
    }
    run.push_back(graph::Dim{extent, {}});
  }
  return run;
}

// Returns the run whose dimension i is dimension order[i] of `run`.
std::optional<Dims> PermutedRun(ElaborationContext& elaboration, const Dims& run,
                                program::ExprId order, Frame& frame, Range range) {
  std::optional<std::vector<int64_t>> numbers = ListedInts(elaboration, order, frame);
  if (!numbers) return std::nullopt;
  std::vector<int64_t> sorted = *numbers;
  llvm::sort(sorted);
  bool each_once = sorted.size() == run.size();
  for (size_t i = 0; each_once && i < sorted.size(); ++i) {
    each_once = sorted[i] == static_cast<int64_t>(i);
  }
  if (!each_once) {
    Report(elaboration, Code::kE0511, SiteOr(elaboration, range),
           fmt::format("`{}`: [{}] does not name each of the {} dimensions once, counted from 0",
                       frame.subject, fmt::join(*numbers, ", "), run.size()));
    return std::nullopt;
  }
  Dims permuted;
  for (int64_t number : *numbers) permuted.push_back(run[static_cast<size_t>(number)]);
  return permuted;
}

// Broadcasts by NumPy's rule: aligned at the last dimension, equal or 1.
std::optional<Dims> BroadcastRuns(ElaborationContext& elaboration, const Dims& a, const Dims& b,
                                  Frame& frame, Range range) {
  Dims result(std::max(a.size(), b.size()));
  const graph::Dim one{1, {}};
  for (size_t i = 0; i < result.size(); ++i) {  // from the last dimension
    const graph::Dim& x = i < a.size() ? a[a.size() - 1 - i] : one;
    const graph::Dim& y = i < b.size() ? b[b.size() - 1 - i] : one;
    if (x != y && x != one && y != one) {
      auto text = [&](const Dims& dims) {
        graph::Type type{DType::kF32, {dims.begin(), dims.end()}};
        return Text(elaboration, type).substr(3);
      };
      bool dynamic = x.symbol.valid() || y.symbol.valid();
      Report(elaboration, dynamic ? Code::kE0508 : Code::kE0507, SiteOr(elaboration, range),
             fmt::format("`{}`: shapes {} and {} do not broadcast: counted from the last, "
                         "dimension {} differs and neither is 1{}",
                         frame.subject, text(a), text(b), i + 1, dynamic ? kOneValue : ""));
      return std::nullopt;
    }
    result[result.size() - 1 - i] = x == one ? y : x;
  }
  return result;
}

// Returns the position that `dim` names among `count` dimensions; a negative one counts from the
// end.
std::optional<int64_t> PositionIn(ElaborationContext& elaboration, int64_t count, int64_t dim,
                                  const Frame& frame, Range range) {
  const int64_t position = dim < 0 ? dim + count : dim;
  if (position >= 0 && position < count) return position;
  Report(elaboration, Code::kE0511, SiteOr(elaboration, range),
         fmt::format("`{}` has no dimension {} to work on: there are {}, counted from 0, or from "
                     "-1 at the end",
                     frame.subject, dim, count));
  return std::nullopt;
}

std::optional<int64_t> PositionIn(ElaborationContext& elaboration, int64_t count,
                                  program::ExprId index, Frame& frame, Range range) {
  std::optional<int64_t> dim = EvaluateInt(elaboration, index, frame, "a dimension's index");
  return dim ? PositionIn(elaboration, count, *dim, frame, range) : std::nullopt;
}

// Returns which dimensions of a run are dropped: one, or each of a list.
std::optional<std::vector<bool>> DroppedDims(ElaborationContext& elaboration, const Dims& run,
                                             program::ExprId which, Frame& frame, Range range) {
  const Value value = Evaluate(elaboration, which, frame);
  std::vector<int64_t> dims;
  if (const int64_t* dim = value.As<int64_t>()) {
    dims.push_back(*dim);
  } else if (auto listed = ListedInts(elaboration, which, frame)) {
    dims = std::move(*listed);
  } else {
    return std::nullopt;
  }
  std::vector<bool> dropped(run.size());
  for (int64_t dim : dims) {
    const auto position = PositionIn(elaboration, run.size(), dim, frame, range);
    if (!position) return std::nullopt;
    if (dropped[*position]) {
      Report(elaboration, Code::kE0511, SiteOr(elaboration, range),
             fmt::format("`{}`: [{}] names dimension {} twice", frame.subject,
                         fmt::join(dims, ", "), *position));
      return std::nullopt;
    }
    dropped[*position] = true;
  }
  return dropped;
}

// Evaluates drop(s, dim) and drop(s, dim, keep), which leaves a 1 there where `keep` is true.
std::optional<Dims> WithoutDims(ElaborationContext& elaboration, const Dims& run,
                                const std::vector<program::Argument>& arguments, Frame& frame,
                                Range range) {
  const std::optional<std::vector<bool>> dropped =
      DroppedDims(elaboration, run, arguments[1].value, frame, range);
  if (!dropped) return std::nullopt;
  std::optional<bool> keep = false;
  if (arguments.size() > 2) keep = EvaluateCondition(elaboration, arguments[2].value, frame);
  if (!keep) return std::nullopt;
  Dims rest;
  for (size_t i = 0; i < run.size(); ++i) {
    if (!(*dropped)[i]) rest.push_back(run[i]);
    if ((*dropped)[i] && *keep) rest.push_back(graph::Dim{1, {}});
  }
  return rest;
}

// Evaluates insert(s, dim, n): a dimension more, which `dim` counts, too.
std::optional<Dims> WithDim(ElaborationContext& elaboration, const Dims& run,
                            const std::vector<program::Argument>& arguments, Frame& frame,
                            Range range) {
  std::optional<int64_t> dim =
      PositionIn(elaboration, run.size() + 1, arguments[1].value, frame, range);
  std::optional<graph::Dim> extent = EvaluateDim(elaboration, arguments[2].value, frame);
  if (!dim || !extent) return std::nullopt;
  Dims longer = run;
  longer.insert(longer.begin() + *dim, *extent);
  return longer;
}

// Evaluates inferred(shape, n): the ints of `shape`, where a -1 stands for what they leave of `n`.
std::optional<Dims> InferredRun(ElaborationContext& elaboration,
                                const std::vector<program::Argument>& arguments, Frame& frame,
                                Range range) {
  std::optional<std::vector<int64_t>> shape = ListedInts(elaboration, arguments[0].value, frame);
  std::optional<int64_t> count =
      EvaluateDimInt(elaboration, arguments[1].value, frame, "a number of elements");
  if (!shape || !count) return std::nullopt;
  Dims run;
  int64_t product = 1;
  std::optional<size_t> open;
  bool fits = true;
  for (int64_t extent : *shape) {
    fits &= extent >= 0 || (extent == -1 && !open);
    if (extent == -1) {
      open = run.size();
    } else {
      fits &= !__builtin_mul_overflow(product, extent, &product);
    }
    run.push_back(graph::Dim{extent, {}});
  }
  fits &= open ? product > 0 && *count % product == 0 : product == *count;
  if (!fits) {
    Report(elaboration, Code::kE0517, SiteOr(elaboration, range),
           fmt::format("`{}`: [{}] is no shape of {}; their product must be that, where one -1 may "
                       "stand for what the others leave",
                       frame.subject, fmt::join(*shape, ", "), Counted(*count, "element")));
    return std::nullopt;
  }
  if (open) run[*open].extent = *count / product;
  return run;
}

bool GivesRun(program::Builtin builtin) {
  using program::Builtin;
  return builtin == Builtin::kBroadcast || builtin == Builtin::kPermuted ||
         builtin == Builtin::kDrop || builtin == Builtin::kInsert || builtin == Builtin::kInferred;
}

// Returns, in a rule, the product of extents, some of them known only while running.
Value RunningSize(ElaborationContext& elaboration, const Dims& run, const Context& context) {
  Value product;
  for (const graph::Dim& dim : run) {
    const graph::Symbol* symbol =
        dim.symbol.valid() ? &elaboration.builder->graph().symbols[dim.symbol] : nullptr;
    const Value extent = symbol ? Value(Tensor{symbol->extent}) : Value(dim.extent);
    if (&dim == run.begin()) {
      product = extent;
      continue;
    }
    product = ApplyOperator(elaboration, BinaryOperator::kMultiply, {"", product, context.range},
                            {"", extent, context.range}, context);
  }
  return product;
}

// Names the ops to use in place of one that needs each extent. One of them can be the one that
// failed.
std::string OpsThatKeepIt(const std::string& failed) {
  if (failed == "flatten") {
    return "flatten the other dimensions alone, as flatten(x, start_dim: 1) does behind rows";
  }
  std::vector<std::string> ops = {"flatten", "unflatten", "squeeze", "unsqueeze"};
  std::erase(ops, failed);
  const std::string last = std::move(ops.back());
  ops.pop_back();
  return fmt::format("{} and {} leave such a dimension as it is", fmt::join(ops, ", "), last);
}

}  // namespace

bool IsRun(const ElaborationContext& elaboration, program::ExprId id, const Frame& frame) {
  const auto& node = elaboration.program.exprs[id].node;
  if (auto* dim = std::get_if<program::DimRef>(&node)) {
    return frame.signature->dim_variables[dim->variable].run;
  }
  auto* call = std::get_if<program::CallBuiltin>(&node);
  return call && GivesRun(call->builtin);
}

std::optional<Dims> EvaluateRun(ElaborationContext& elaboration, program::ExprId id, Frame& frame) {
  const program::Expr& expr = elaboration.program.exprs[id];
  if (auto* name = std::get_if<program::DimRef>(&expr.node)) {
    if (const auto& bound = frame.dims[name->variable.index]) return bound->dims;
    Report(elaboration, Code::kE0509, expr.range,
           fmt::format("nothing binds the dimensions `{}`",
                       frame.signature->dim_variables[name->variable].name));
    return std::nullopt;
  }
  if (std::holds_alternative<program::LocalRef>(expr.node))
    return ListedRun(elaboration, id, frame);
  auto* call = std::get_if<program::CallBuiltin>(&expr.node);
  if (!call || call->arguments.size() < 2 || !GivesRun(call->builtin)) {
    Report(elaboration, Code::kE0406, expr.range, "a run of dimensions is needed here");
    return std::nullopt;
  }
  if (call->builtin == program::Builtin::kInferred) {
    return InferredRun(elaboration, call->arguments, frame, expr.range);
  }
  std::optional<Dims> run = EvaluateRun(elaboration, call->arguments[0].value, frame);
  if (!run) return std::nullopt;
  if (call->builtin == program::Builtin::kDrop) {
    return WithoutDims(elaboration, *run, call->arguments, frame, expr.range);
  }
  if (call->builtin == program::Builtin::kInsert) {
    return WithDim(elaboration, *run, call->arguments, frame, expr.range);
  }
  if (call->builtin == program::Builtin::kPermuted) {
    return PermutedRun(elaboration, *run, call->arguments[1].value, frame, expr.range);
  }
  std::optional<Dims> other = EvaluateRun(elaboration, call->arguments[1].value, frame);
  return other ? BroadcastRuns(elaboration, *run, *other, frame, expr.range) : std::nullopt;
}

Value DimFunction(ElaborationContext& elaboration, const program::CallBuiltin& e,
                  const Context& context) {
  program::ExprId argument = e.arguments[0].value;
  if (e.builtin == program::Builtin::kWidth) {
    auto* generic = std::get_if<program::GenericRef>(&elaboration.program.exprs[argument].node);
    if (generic && context.frame.generics[generic->generic.index]) {
      return Value(DTypeBytes(context.frame.generics[generic->generic.index]->dtype));
    }
    Report(elaboration, Code::kE0406, context.range,
           "width() is of a dtype variable of the signature");
    return Value();
  }
  std::optional<Dims> run = EvaluateRun(elaboration, argument, context.frame);
  if (!run) return Value();
  if (e.arguments.size() > 1) {
    const program::ExprId index = e.arguments[1].value;
    const std::optional<int64_t> dim =
        PositionIn(elaboration, run->size(), index, context.frame, context.range);
    if (!dim) return Value();
    run = Dims{(*run)[*dim]};
  }
  if (e.builtin == program::Builtin::kRank) return Value(static_cast<int64_t>(run->size()));
  bool is_static = llvm::none_of(*run, [](const graph::Dim& dim) { return dim.symbol.valid(); });
  if (e.builtin == program::Builtin::kBounded) return Value(!is_static);
  const bool in_rule = elaboration.arithmetic == ArithmeticMode::kNormal && elaboration.builder;
  if (!is_static && in_rule && e.builtin == program::Builtin::kSize) {
    return elaboration.speculative ? Value() : RunningSize(elaboration, *run, context);
  }
  if (!is_static && elaboration.arithmetic != ArithmeticMode::kCost) {
    const bool joins = e.builtin == program::Builtin::kTotal;
    Report(elaboration, Code::kE0508, SiteOr(elaboration, context.range),
           fmt::format("`{}` has to know while compiling how {}, and {}; {}", context.frame.subject,
                       joins ? "long its result is" : "many elements there are",
                       LateText(elaboration, *run),
                       joins ? "update(into, part, at: [...]) puts it into a tensor as long as "
                               "the bound"
                             : OpsThatKeepIt(context.frame.subject)));
    return Value();
  }
  if (e.builtin != program::Builtin::kTotal) {
    return Value(graph::Type{DType::kU8, {run->begin(), run->end()}}.elements());
  }
  int64_t total = 0;
  for (const graph::Dim& dim : *run) {
    if (__builtin_add_overflow(total, dim.extent, &total)) return Value(INT64_MAX);
  }
  return Value(total);
}

}  // namespace cgraph::elaborate
