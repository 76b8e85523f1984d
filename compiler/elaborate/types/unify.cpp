#include "compiler/elaborate/types/unify.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/types/dims.h"

namespace cgraph::elaborate {
namespace {

std::string DimText(const graph::Graph* graph, const graph::Dim& dim) {
  if (!dim.symbol.valid()) return std::to_string(dim.extent);
  return graph->symbols[dim.symbol].name + " <= " + std::to_string(dim.extent);
}

// Returns how many dimensions a part of the pattern takes; nothing for a run that is still free.
std::optional<size_t> RunLength(ElaborationContext& elaboration, const program::Dim& dim,
                                Frame& frame) {
  if (dim.kind != program::Dim::kRun) return 1;
  if (!dim.variable.valid()) {
    std::optional<Dims> run = EvaluateRun(elaboration, dim.expr, frame);
    return run ? std::optional<size_t>(run->size()) : std::nullopt;
  }
  if (const auto& bound = frame.dims[dim.variable.index]) return bound->dims.size();
  if (const auto& hint = frame.run_ranks[dim.variable.index]) return std::max<int64_t>(*hint, 0);
  return std::nullopt;
}

void ReportRank(ElaborationContext& elaboration, const Match& match) {
  Report(
      elaboration, Code::kE0507, match.range,
      fmt::format("{} is {}; this is {}: the numbers of dimensions differ{}",
                  Describe(elaboration, match.subject, match.frame),
                  Declared(elaboration, match.type, match.frame), Text(elaboration, match.actual),
                  match.is_number ? "; zeros() and full(0.5) make a tensor of the type that is "
                                    "expected"
                                  : ""))
      .AddNote(match.subject.declared, "declared here");
}

// `declared`: the dimension as the type has it, quoted.
void ReportDim(ElaborationContext& elaboration, const Match& match, size_t position,
               const std::string& declared, const graph::Dim& wanted, const BoundDims* bound) {
  const graph::Dim& actual = match.actual.dims[position];
  const graph::Graph* graph = elaboration.builder ? &elaboration.builder->graph() : nullptr;
  bool dynamic = wanted.symbol.valid() || actual.symbol.valid();
  std::string message =
      fmt::format("{} is {}; this is {}: dimension {} is {} and should be {}",
                  Describe(elaboration, match.subject, match.frame),
                  Declared(elaboration, match.type, match.frame), Text(elaboration, match.actual),
                  position, DimText(graph, actual), DimText(graph, wanted));
  if (dynamic) message += kOneValue;
  Diagnostic& diagnostic =
      Report(elaboration, dynamic ? Code::kE0508 : Code::kE0507, match.range, std::move(message));
  if (bound) {
    std::string by = bound->from ? fmt::format("by `{}`", *bound->from) : "by a type hint";
    diagnostic.AddNote(bound->range, fmt::format("{} was bound here to {}, {}", declared,
                                                 DimText(graph, wanted), by));
  }
  diagnostic.AddNote(match.subject.declared, "declared here");
  const bool of_actor = !bound && match.frame.instance.valid() && !wanted.symbol.valid() &&
                        declared != "`" + std::to_string(wanted.extent) + "`";
  if (!of_actor) return;
  const graph::Instance& instance = elaboration.module.instances[match.frame.instance];
  diagnostic.AddNote(instance.range, fmt::format("{} is {} in `{}`, which is made here", declared,
                                                 wanted.extent, instance.name));
}

bool MatchRun(ElaborationContext& elaboration, const Match& match, const program::Dim& dim,
              size_t position, size_t length) {
  llvm::ArrayRef<graph::Dim> part = llvm::makeArrayRef(match.actual.dims).slice(position, length);
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
    std::optional<Dims> run = EvaluateRun(elaboration, dim.expr, match.frame);
    if (!run) return false;
    wanted = *run;
  }
  for (size_t i = 0; i < length; ++i) {
    if (wanted[i] == part[i]) continue;
    const std::string of_run =
        bound ? fmt::format("dimension {} of `*{}`", i,
                            match.frame.signature->dim_variables[dim.variable].name)
              : "`" + Declared(elaboration, match.type, match.frame) + "`";
    ReportDim(elaboration, match, position + i, of_run, wanted[i], bound);
    return false;
  }
  return true;
}

bool BindDim(ElaborationContext& elaboration, const Match& match, program::DimVariableId variable,
             size_t position) {
  std::optional<BoundDims>& bound = match.frame.dims[variable.index];
  const graph::Dim& actual = match.actual.dims[position];
  if (!bound) {
    bound = BoundDims{{actual}, match.subject.name, match.range};
    return true;
  }
  if (bound->dims[0] == actual) return true;
  ReportDim(elaboration, match, position,
            "`" + match.frame.signature->dim_variables[variable].name + "`", bound->dims[0],
            &*bound);
  return false;
}

bool MatchExpr(ElaborationContext& elaboration, const Match& match, program::ExprId expr,
               size_t position) {
  if (auto* variable = std::get_if<program::DimRef>(&elaboration.program.exprs[expr].node)) {
    return BindDim(elaboration, match, variable->variable, position);
  }
  if (!IsKnown(elaboration, expr, match.frame)) {
    match.frame.deferred.push_back(
        {match.type, match.actual, match.subject, match.range, expr, position});
    return true;
  }
  const std::optional<graph::Dim> wanted = EvaluateDim(elaboration, expr, match.frame);
  if (!wanted) return false;
  if (match.actual.dims[position] == *wanted) return true;
  ReportDim(elaboration, match, position, "`" + Declared(elaboration, expr, match.frame) + "`",
            *wanted, nullptr);
  return false;
}

bool MatchDim(ElaborationContext& elaboration, const Match& match, const program::Dim& dim,
              size_t position) {
  switch (dim.kind) {
    case program::Dim::kVariable:
      return BindDim(elaboration, match, dim.variable, position);
    case program::Dim::kExpr:
      return MatchExpr(elaboration, match, Reduce(elaboration, dim.expr, match.frame), position);
    case program::Dim::kEach: {
      std::optional<BoundDims>& each = match.frame.dims[dim.variable.index];
      if (!each) each = BoundDims{{}, match.subject.name, match.range};
      each->dims.push_back(match.actual.dims[position]);
      return true;
    }
    default:
      break;
  }
  std::optional<int64_t> bound = EvaluateDimInt(elaboration, dim.expr, match.frame, "a bound");
  if (!bound) return false;
  const graph::Dim& actual = match.actual.dims[position];
  if (actual.extent > *bound) {
    Report(elaboration, Code::kE0508, match.range,
           fmt::format("{} is {}, at most {} in dimension {}; this is {}",
                       Describe(elaboration, match.subject, match.frame),
                       Declared(elaboration, match.type, match.frame), *bound, position,
                       Text(elaboration, match.actual)))
        .AddNote(match.subject.declared, "declared here");
    return false;
  }
  return !dim.variable.valid() || BindDim(elaboration, match, dim.variable, position);
}

}  // namespace

bool MatchDims(ElaborationContext& elaboration, const Match& match) {
  const auto& type = std::get<program::TensorType>(elaboration.program.types[match.type].node);
  std::vector<std::optional<size_t>> lengths;
  size_t taken = 0, free_runs = 0;
  for (const program::Dim& dim : type.dims) {
    lengths.push_back(RunLength(elaboration, dim, match.frame));
    taken += lengths.back().value_or(0);
    free_runs += !lengths.back();
  }
  size_t rank = match.actual.dims.size();
  if (free_runs > 1) {
    Report(elaboration, Code::kE0509, match.range,
           fmt::format("{} is {}: nothing says how many dimensions each run takes",
                       Describe(elaboration, match.subject, match.frame),
                       Declared(elaboration, match.type, match.frame)));
    return false;
  }
  if (free_runs == 0 ? taken != rank : taken > rank) {
    ReportRank(elaboration, match);
    return false;
  }
  size_t position = 0;
  for (size_t i = 0; i < type.dims.size(); ++i) {
    size_t length = lengths[i].value_or(rank - taken);
    bool fits = type.dims[i].kind == program::Dim::kRun
                    ? MatchRun(elaboration, match, type.dims[i], position, length)
                    : MatchDim(elaboration, match, type.dims[i], position);
    if (!fits) return false;
    position += length;
  }
  return true;
}

bool CheckDeferred(ElaborationContext& elaboration, Frame& frame) {
  std::vector<DeferredDim> deferred = std::move(frame.deferred);
  frame.deferred.clear();
  for (const DeferredDim& dim : deferred) {
    if (!IsKnown(elaboration, dim.expr, frame)) {
      Report(elaboration, Code::kE0509, dim.range,
             fmt::format("{} is {}: nothing binds what dimension {} is computed from",
                         Describe(elaboration, dim.subject, frame),
                         Declared(elaboration, dim.type, frame), dim.position));
      return false;
    }
    Match match{dim.type, dim.actual, frame, dim.subject, dim.range};
    if (!MatchExpr(elaboration, match, dim.expr, dim.position)) return false;
  }
  return true;
}

}  // namespace cgraph::elaborate
