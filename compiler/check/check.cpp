#include "compiler/check/check.h"

#include <map>
#include <string>

#include "compiler/check/checker.h"
#include "compiler/check/resolver.h"

namespace cgraph {

namespace check {

namespace {

// What a name of another language is called here; empty when it is none.
std::string FromElsewhere(const std::string& name) {
  static const std::map<std::string, std::string> kNames = {
#define FOREIGN(theirs, ours) {theirs, ours},
#include "compiler/check/foreign.def"
  };
  auto found = kNames.find(name);
  return found == kNames.end() ? "" : found->second;
}

}  // namespace

Checker::Checker(Sources& sources, const CheckOptions& options, Diagnostics& diagnostics)
    : sources(sources), options(options), diagnostics(diagnostics) {}

Checker::~Checker() = default;

std::string Checker::Suggestion(const std::string& name,
                                const std::vector<std::string>& candidates) {
  constexpr int kMaxSuggestions = 100;
  if (++suggestions > kMaxSuggestions) return "";
  if (std::string ours = FromElsewhere(name); !ours.empty()) return " (here it is " + ours + ")";
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
