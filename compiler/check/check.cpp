#include "compiler/check/check.h"

#include <map>
#include <set>
#include <string>

#include <fmt/format.h>

#include "compiler/check/checker.h"
#include "compiler/check/scope/scope.h"

namespace cgraph {

namespace check {

Checker::Checker(Sources& sources, const CheckOptions& options, Diagnostics& diagnostics)
    : sources(sources), options(options), diagnostics(diagnostics) {}

Checker::~Checker() = default;

Diagnostic& Checker::Suggest(Diagnostic& diagnostic, Range range, const std::string& name,
                             llvm::function_ref<std::vector<std::string>()> candidates) {
  constexpr int kMaxSuggestions = 100;
  if (++suggestions > kMaxSuggestions) return diagnostic;
  return diagnostic.Suggest(range, name, candidates());
}

// Names the tensor type to use where a compile-time type was written for a value that is known only
// while running.
const char* TensorLike(const program::CompileTimeType& type) {
  switch (type.kind) {
    case program::CompileTimeKind::kInt: return "a tensor of one number, i64";
    case program::CompileTimeKind::kFloat: return "a tensor of one number, f32";
    case program::CompileTimeKind::kBool: return "a tensor of one truth value, bool[]";
    default: return "a tensor";
  }
}

// Warns of graphs that need a compile-time argument where no graph gives them one: the plan leaves
// such a graph out, which is hardly what was meant.
void WarnOfGraphsNobodyRuns(Checker& checker) {
  const program::Program& program = checker.program;
  std::set<program::GraphId> called;
  for (const program::Expr& expr : program.exprs) {
    if (const auto* call = std::get_if<program::CallGraph>(&expr.node)) called.insert(call->graph);
  }
  for (program::GraphId id : program.graphs.Ids()) {
    const program::Graph& graph = program.graphs[id];
    if (graph.range.source != program.main || called.count(id)) continue;
    for (const program::Parameter& parameter : graph.signature.parameters) {
      const auto& type = program.types[parameter.type].node;
      const auto* known = std::get_if<program::CompileTimeType>(&type);
      if (known == nullptr || parameter.default_value.valid()) continue;
      checker.diagnostics.Report(
          Code::kW0303, parameter.range,
          fmt::format("`{0}` is known only while compiling, so no run can give it, and no graph "
                      "calls `{1}`, which is left out; give `{0}` a default, or take {2}",
                      parameter.name, graph.name, TensorLike(*known)));
      break;
    }
  }
}

}  // namespace check

program::Program Check(syntax::File main, Sources& sources, const CheckOptions& options,
                       Diagnostics& diagnostics) {
  check::Checker checker(sources, options, diagnostics);
  checker.program.main = main.source;
  checker.names_missing = diagnostics.has_errors();
  if (main.items.empty() && !checker.names_missing) {
    diagnostics.Report(Code::kW0302, {main.source, 0, 0}, "this file declares nothing");
  }
  if (!LoadModules(checker, std::move(main))) return std::move(checker.program);
  Declare(checker);
  FindOperatorOps(checker);
  ResolveSignatures(checker);
  ResolveBodies(checker);
  ResolveSchedules(checker);
  ResolveTopologies(checker);
  CheckConstCycles(checker);
  if (!diagnostics.has_errors()) WarnOfGraphsNobodyRuns(checker);
  return std::move(checker.program);
}

}  // namespace cgraph
