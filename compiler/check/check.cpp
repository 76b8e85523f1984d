#include "compiler/check/check.h"

#include "compiler/check/checker.h"
#include "compiler/check/resolver.h"

namespace cgraph {

namespace check {

Checker::Checker(Sources& sources, const CheckOptions& options, Diagnostics& diagnostics)
    : sources(sources), options(options), diagnostics(diagnostics) {}

Checker::~Checker() = default;

std::string Checker::Suggestion(const std::string& name,
                                const std::vector<std::string>& candidates) {
  constexpr int kMaxSuggestions = 100;
  if (++suggestions > kMaxSuggestions) return "";
  std::string nearest = DidYouMean(name, candidates);
  return nearest.empty() ? "" : " (did you mean `" + nearest + "`?)";
}

}  // namespace check

program::Program Check(syntax::File main, Sources& sources, const CheckOptions& options,
                       Diagnostics& diagnostics) {
  check::Checker checker(sources, options, diagnostics);
  checker.program.main = main.source;
  checker.syntax_errors = diagnostics.has_errors();
  if (!LoadModules(checker, std::move(main))) return std::move(checker.program);
  Declare(checker);
  FindOperatorOps(checker);
  ResolveSignatures(checker);
  ResolveBodies(checker);
  CheckConstCycles(checker);
  return std::move(checker.program);
}

}  // namespace cgraph
