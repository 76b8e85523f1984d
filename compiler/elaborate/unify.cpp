// Unification: the dimensions a tensor has against the dimensions a declaration asks for.
//
// A dimension variable is bound where it is first met and compared afterwards; a run `*s` takes
// what the other dimensions leave. A computed dimension (`H / T`) waits until every parameter is
// bound. Two bounded dimensions are equal only when they are the same symbol.
#include "compiler/elaborate/elaborator.h"
#include "fmt/format.h"

namespace cgraph::elaboration {
namespace {

std::string DimText(const graph::Graph* graph, const graph::Dim& dim) {
  if (!dim.symbol.valid()) return std::to_string(dim.extent);
  return graph->symbols[dim.symbol].name + " <= " + std::to_string(dim.extent);
}

}  // namespace

// How many dimensions a part of the pattern takes; nothing for a run that is still free.
std::optional<size_t> Elaborator::RunLength(const program::Dim& dim, Frame& frame) {
  if (dim.kind != program::Dim::kRun) return 1;
  if (!dim.variable.valid()) {
    std::optional<Dims> run = EvaluateRun(dim.expr, frame);
    return run ? std::optional<size_t>(run->size()) : std::nullopt;
  }
  if (const auto& bound = frame.dims[dim.variable.index]) return bound->dims.size();
  if (const auto& hint = frame.run_ranks[dim.variable.index]) return std::max<int64_t>(*hint, 0);
  return std::nullopt;
}

bool Elaborator::MatchDims(const Match& match) {
  const auto& type = std::get<program::TensorType>(program_.types[match.type].node);
  std::vector<std::optional<size_t>> lengths;
  size_t taken = 0, free_runs = 0;
  for (const program::Dim& dim : type.dims) {
    lengths.push_back(RunLength(dim, match.frame));
    taken += lengths.back().value_or(0);
    free_runs += !lengths.back();
  }
  size_t rank = match.actual.dims.size();
  if (free_runs > 1) {
    Report(Code::kE0509, match.range,
           fmt::format("{} is {}: nothing says how many dimensions each run takes",
                       Describe(match.subject, match.frame), Declared(match.type, match.frame)));
    return false;
  }
  if (free_runs == 0 ? taken != rank : taken > rank) {
    ReportRank(match);
    return false;
  }
  size_t position = 0;
  for (size_t i = 0; i < type.dims.size(); ++i) {
    size_t length = lengths[i].value_or(rank - taken);
    bool fits = type.dims[i].kind == program::Dim::kRun
                    ? MatchRun(match, type.dims[i], position, length)
                    : MatchDim(match, type.dims[i], position);
    if (!fits) return false;
    position += length;
  }
  return true;
}

bool Elaborator::MatchRun(const Match& match, const program::Dim& dim, size_t position,
                          size_t length) {
  llvm::ArrayRef<graph::Dim> part =
      llvm::makeArrayRef(match.actual.dims).slice(position, length);
  Dims wanted;
  const BoundDims* bound = nullptr;
  if (dim.variable.valid()) {
    std::optional<BoundDims>& variable = match.frame.dims[dim.variable.index];
    if (!variable) {
      variable = BoundDims{Dims(part.begin(), part.end()), match.subject.name, match.range};
      return true;
    }
    bound = &*variable;
    wanted = variable->dims;
  } else {
    std::optional<Dims> run = EvaluateRun(dim.expr, match.frame);
    if (!run) return false;
    wanted = *run;
  }
  for (size_t i = 0; i < length; ++i) {
    if (wanted[i] == part[i]) continue;
    ReportDim(match, position + i, Declared(match.type, match.frame), wanted[i], bound);
    return false;
  }
  return true;
}

bool Elaborator::MatchDim(const Match& match, const program::Dim& dim, size_t position) {
  switch (dim.kind) {
    case program::Dim::kVariable: return BindDim(match, dim.variable, position);
    case program::Dim::kExpr: return MatchExpr(match, Reduce(dim.expr, match.frame), position);
    default: break;
  }
  std::optional<int64_t> bound = EvaluateDimInt(dim.expr, match.frame, "a bound");
  if (!bound) return false;
  const graph::Dim& actual = match.actual.dims[position];
  if (actual.extent > *bound) {
    Report(Code::kE0508, match.range,
           fmt::format("{} is {}, at most {} in dimension {}; this is {}",
                       Describe(match.subject, match.frame), Declared(match.type, match.frame),
                       *bound, position, Text(match.actual)))
        .AddNote(match.subject.declared, "declared here");
    return false;
  }
  return !dim.variable.valid() || BindDim(match, dim.variable, position);
}

bool Elaborator::MatchExpr(const Match& match, program::ExprId expr, size_t position) {
  if (auto* variable = std::get_if<program::DimRef>(&program_.exprs[expr].node)) {
    return BindDim(match, variable->variable, position);
  }
  if (!IsKnown(expr, match.frame)) {
    match.frame.deferred.push_back(
        {match.type, match.actual, match.subject, match.range, expr, position});
    return true;
  }
  std::optional<int64_t> extent = EvaluateDimInt(expr, match.frame, "a dimension");
  if (!extent) return false;
  graph::Dim wanted{*extent, {}};
  if (match.actual.dims[position] == wanted) return true;
  ReportDim(match, position, Declared(expr, match.frame), wanted, nullptr);
  return false;
}

bool Elaborator::BindDim(const Match& match, program::DimVariableId variable, size_t position) {
  std::optional<BoundDims>& bound = match.frame.dims[variable.index];
  const graph::Dim& actual = match.actual.dims[position];
  if (!bound) {
    bound = BoundDims{{actual}, match.subject.name, match.range};
    return true;
  }
  if (bound->dims[0] == actual) return true;
  ReportDim(match, position, match.frame.signature->dim_variables[variable].name, bound->dims[0],
            &*bound);
  return false;
}

// What waited for all parameters to be bound.
bool Elaborator::CheckDeferred(Frame& frame) {
  std::vector<DeferredDim> deferred = std::move(frame.deferred);
  frame.deferred.clear();
  for (const DeferredDim& dim : deferred) {
    if (!IsKnown(dim.expr, frame)) {
      Report(Code::kE0509, dim.range,
             fmt::format("{} is {}: nothing binds what dimension {} is computed from",
                         Describe(dim.subject, frame), Declared(dim.type, frame), dim.position));
      return false;
    }
    Match match{dim.type, dim.actual, frame, dim.subject, dim.range};
    if (!MatchExpr(match, dim.expr, dim.position)) return false;
  }
  return true;
}

void Elaborator::ReportRank(const Match& match) {
  Report(Code::kE0507, match.range,
         fmt::format("{} is {}; this is {}: the numbers of dimensions differ",
                     Describe(match.subject, match.frame), Declared(match.type, match.frame),
                     Text(match.actual)))
      .AddNote(match.subject.declared, "declared here");
}

void Elaborator::ReportDim(const Match& match, size_t position, const std::string& declared,
                           const graph::Dim& wanted, const BoundDims* bound) {
  const graph::Dim& actual = match.actual.dims[position];
  const graph::Graph* graph = builder_ ? &builder_->graph() : nullptr;
  bool dynamic = wanted.symbol.valid() || actual.symbol.valid();
  std::string message = fmt::format(
      "{} is {}; this is {}: dimension {} is {} and should be {}",
      Describe(match.subject, match.frame), Declared(match.type, match.frame),
      Text(match.actual), position, DimText(graph, actual), DimText(graph, wanted));
  if (dynamic) message += kOneValue;
  Diagnostic& diagnostic =
      Report(dynamic ? Code::kE0508 : Code::kE0507, match.range, std::move(message));
  if (bound) {
    std::string by = bound->from ? fmt::format("by `{}`", *bound->from) : "by a type hint";
    diagnostic.AddNote(bound->range,
                       fmt::format("`{}` was bound here to {}, {}", declared,
                                   DimText(graph, wanted), by));
  }
  diagnostic.AddNote(match.subject.declared, "declared here");
  const bool of_actor = !bound && match.frame.instance.valid() && !wanted.symbol.valid() &&
                        declared != std::to_string(wanted.extent);
  if (!of_actor) return;
  const graph::Instance& instance = module_.instances[match.frame.instance];
  diagnostic.AddNote(instance.range, fmt::format("`{}` is {} in `{}`, which is made here", declared,
                                                 wanted.extent, instance.name));
}

}  // namespace cgraph::elaboration
