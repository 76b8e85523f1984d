#include "compiler/check/types/types.h"

#include <fmt/format.h>

#include "compiler/check/scope/scope.h"
#include "compiler/check/static_types/match.h"
#include "compiler/program/text.h"

namespace cgraph::check {

using namespace program;

void ExpectType(Scope& scope, TypeId type, const StaticType& given, Range at,
                const std::string& what, Range declared) {
  Matcher matcher(scope.program, scope.signature, true);
  auto mismatch = matcher.Match(type, given);
  if (!mismatch) return;
  auto& diagnostic = scope.Report(
      mismatch->code, at,
      fmt::format("{} is declared as {}, and this is {}{}", what,
                  TextPrinter(scope.program, scope.signature, scope.names.rows()).Meaning(type),
                  scope.Describe(given), mismatch->reason.empty() ? "" : ": " + mismatch->reason));
  if (declared.valid()) diagnostic.AddNote(declared, "declared here");
}

}  // namespace cgraph::check
