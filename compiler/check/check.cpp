#include "compiler/check/check.h"

#include <map>
#include <string>

#include "compiler/check/checker.h"
#include "compiler/check/scope/scope.h"

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

Diagnostic& Checker::Suggest(Diagnostic& diagnostic, Range range, const std::string& name,
                             const std::vector<std::string>& candidates) {
  constexpr int kMaxSuggestions = 100;
  if (++suggestions > kMaxSuggestions) return diagnostic;
  return diagnostic.Suggest(range, name, candidates);
}

bool Checker::Translate(Diagnostic& diagnostic, Range range, const std::string& name) {
  const std::string ours = FromElsewhere(name);
  if (ours.empty()) return false;
  diagnostic.message += " (here it is " + ours + ")";
  const llvm::StringRef quoted(ours);
  const bool replaces = quoted.startswith("`") && quoted.find('`', 1) == quoted.size() - 1;
  if (replaces) diagnostic.AddFix(range, quoted.drop_front().drop_back().str());
  return true;
}

}  // namespace check

program::Program Check(syntax::File main, Sources& sources, const CheckOptions& options,
                       Diagnostics& diagnostics) {
  check::Checker checker(sources, options, diagnostics);
  checker.program.main = main.source;
  checker.syntax_errors = diagnostics.has_errors();
  if (main.items.empty() && !checker.syntax_errors) {
    diagnostics.Report(Code::kW0302, {main.source, 0, 0}, "this file declares nothing");
  }
  if (!LoadModules(checker, std::move(main))) return std::move(checker.program);
  Declare(checker);
  FindOperatorOps(checker);
  ResolveSignatures(checker);
  ResolveBodies(checker);
  ResolveSchedules(checker);
  CheckConstCycles(checker);
  return std::move(checker.program);
}

}  // namespace cgraph
