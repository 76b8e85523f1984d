#include "compiler/elaborate/types/dims.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/elaboration_context.h"
#include "llvm/ADT/STLExtras.h"

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
             fmt::format("`{}`: a dimension of {} is negative{}", frame.subject, extent,
                         extent == -1 ? "; none is inferred: write the number, or one of the "
                                        "dimensions' names such as n * m"
                                      : ""));
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

std::optional<Dims> WithoutDim(ElaborationContext& elaboration, const Dims& run,
                               program::ExprId index, Frame& frame, Range range) {
  std::optional<int64_t> dim = EvaluateInt(elaboration, index, frame, "a dimension's index");
  if (!dim) return std::nullopt;
  if (*dim < 0 || *dim >= static_cast<int64_t>(run.size())) {
    Report(elaboration, Code::kE0511, SiteOr(elaboration, range),
           fmt::format("`{}` has no dimension {} to work on: there are {}, counted from 0, or from "
                       "-1 at the end",
                       frame.subject, *dim, run.size()));
    return std::nullopt;
  }
  Dims rest = run;
  rest.erase(rest.begin() + *dim);
  return rest;
}

}  // namespace

bool IsRun(const ElaborationContext& elaboration, program::ExprId id, const Frame& frame) {
  const auto& node = elaboration.program.exprs[id].node;
  if (auto* dim = std::get_if<program::DimRef>(&node)) {
    return frame.signature->dim_variables[dim->variable].run;
  }
  auto* call = std::get_if<program::CallBuiltin>(&node);
  return call &&
         (call->builtin == program::Builtin::kBroadcast ||
          call->builtin == program::Builtin::kPermuted || call->builtin == program::Builtin::kDrop);
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
  bool of_runs =
      call && call->arguments.size() == 2 &&
      (call->builtin == program::Builtin::kBroadcast ||
       call->builtin == program::Builtin::kPermuted || call->builtin == program::Builtin::kDrop);
  if (!of_runs) {
    Report(elaboration, Code::kE0406, expr.range, "a run of dimensions is needed here");
    return std::nullopt;
  }
  std::optional<Dims> run = EvaluateRun(elaboration, call->arguments[0].value, frame);
  if (!run) return std::nullopt;
  if (call->builtin == program::Builtin::kDrop) {
    return WithoutDim(elaboration, *run, call->arguments[1].value, frame, expr.range);
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
  if (e.builtin == program::Builtin::kRank) return Value(static_cast<int64_t>(run->size()));
  graph::Type type{DType::kU8, {run->begin(), run->end()}};
  bool is_static = llvm::none_of(*run, [](const graph::Dim& dim) { return dim.symbol.valid(); });
  if (is_static || elaboration.arithmetic == ArithmeticMode::kCost) return Value(type.elements());
  Report(elaboration, Code::kE0508, context.range,
         "size() of dimensions that are known only while running");
  return Value();
}

}  // namespace cgraph::elaborate
