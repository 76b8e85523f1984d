// SyntaxErrors: the syntax errors of one file, without cascades.
//
// A parser that goes on after an error may stumble again over the same mistake. Errors of structure
// (something missing, something in the wrong place) are therefore reported once per line; errors
// that stand by themselves, such as a literal out of range, are always reported. After
// kMaxSyntaxErrors the file is given up.
#ifndef CGRAPH_COMPILER_SYNTAX_ERRORS_ERRORS_H_
#define CGRAPH_COMPILER_SYNTAX_ERRORS_ERRORS_H_

#include <string>
#include <unordered_set>

#include "compiler/base/diagnostics/diagnostics.h"

namespace cgraph::syntax {

// Thrown to give up the rest of the file, after a diagnostic.
struct StopParsing {};
// Thrown to give up one item: its tree would be deeper than kMaxTreeDepth.
struct TooDeep {
  uint32_t begin, end;
};

class SyntaxErrors {
 public:
  SyntaxErrors(SourceId source, Diagnostics& diagnostics)
      : source_(source), diagnostics_(diagnostics) {}

  // Reports an error of structure, at most one per line. Returns nullptr when it is held back.
  Diagnostic* ReportStructure(Code code, uint32_t begin, uint32_t end, std::string message);
  Diagnostic& Report(Code code, uint32_t begin, uint32_t end, std::string message);
  // Warns about text that parses; counts as no error.
  Diagnostic& Warn(Code code, uint32_t begin, uint32_t end, std::string message) {
    return diagnostics_.Report(code, At(begin, end), std::move(message));
  }

  Range At(uint32_t begin, uint32_t end) const { return {source_, begin, end}; }
  llvm::StringRef text() const { return diagnostics_.sources()[source_].text; }
  size_t count() const { return count_; }

 private:
  SourceId source_;
  Diagnostics& diagnostics_;
  std::unordered_set<uint32_t> lines_;
  size_t count_ = 0;
};

}  // namespace cgraph::syntax

#endif  // CGRAPH_COMPILER_SYNTAX_ERRORS_ERRORS_H_
