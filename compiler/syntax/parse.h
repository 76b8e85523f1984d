// Parse: one source text -> Syntax.
//
// The only place that knows ANTLR. Reports syntax errors in words of our own, goes on at the next
// statement or declaration, and keeps what it could read. Limits: kMaxSourceBytes, kMaxTokens,
// kMaxNesting.
#ifndef CGRAPH_COMPILER_SYNTAX_PARSE_H_
#define CGRAPH_COMPILER_SYNTAX_PARSE_H_

#include "compiler/base/diagnostics/diagnostics.h"
#include "compiler/syntax/syntax.h"

namespace cgraph {

syntax::File Parse(SourceId source, Diagnostics& diagnostics);

// The value of `--schedule`, which stands behind `using` in a file: its rows go into `file`.
// Without a value, what is wrong was reported.
std::optional<syntax::Using> ParseSchedule(SourceId source, syntax::File& file,
                                           Diagnostics& diagnostics);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_SYNTAX_PARSE_H_
