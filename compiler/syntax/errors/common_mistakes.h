// CommonMistakes: what people write who come from Python or C, and how the same is written here.
#ifndef CGRAPH_COMPILER_SYNTAX_ERRORS_COMMON_MISTAKES_H_
#define CGRAPH_COMPILER_SYNTAX_ERRORS_COMMON_MISTAKES_H_

#include "compiler/syntax/tokens.h"

namespace cgraph::syntax {

// What the parser knew when it met a lexeme that does not fit.
struct ParseFailure {
  const Lexemes& lexemes;
  size_t at;
  const antlr4::misc::IntervalSet& expected;
  size_t rule;  // of the grammar
};

// Reports the mend when the lexemes around the stumble are a form of another language. False: they
// are none that is known.
bool ReportHabit(const ParseFailure& failure, SyntaxErrors& errors);

}  // namespace cgraph::syntax

#endif  // CGRAPH_COMPILER_SYNTAX_ERRORS_COMMON_MISTAKES_H_
