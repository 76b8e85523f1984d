#include "compiler/syntax/errors/errors.h"

#include "compiler/base/limits.h"

namespace cgraph::syntax {

Diagnostic* SyntaxErrors::ReportStructure(Code code, uint32_t begin, uint32_t end,
                                          std::string message) {
  const uint32_t line = diagnostics_.sources().Locate(source_, begin).line;
  if (lines_.count(line) != 0) return nullptr;
  return &Report(code, begin, end, std::move(message));
}

Diagnostic& SyntaxErrors::Report(Code code, uint32_t begin, uint32_t end, std::string message) {
  if (count_ == kMaxSyntaxErrors) {
    diagnostics_.Report(Code::kE0106, At(begin, end),
                        "more than " + std::to_string(kMaxSyntaxErrors) +
                            " syntax errors; the rest of this file was not read");
    throw StopParsing();
  }
  ++count_;
  lines_.insert(diagnostics_.sources().Locate(source_, begin).line);
  return diagnostics_.Report(code, At(begin, end), std::move(message));
}

}  // namespace cgraph::syntax
