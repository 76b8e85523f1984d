// Comments that may be meant as divisions: `x // 2` of Python is `x` here, and a comment.
#ifndef CGRAPH_COMPILER_SYNTAX_ERRORS_DIVISIONS_H_
#define CGRAPH_COMPILER_SYNTAX_ERRORS_DIVISIONS_H_

#include <set>
#include <string>

#include "compiler/syntax/tokens.h"

namespace cgraph::syntax {

// Warns of every comment that follows an operand on its line and holds nothing but a number or the
// name of one of the file's consts. No word of prose is a warning.
void WarnOfDivisions(const Lexemes& lexemes, SyntaxErrors& errors);

// Where the text goes on after `end`, on the same line, with a comment that reads like the rest of
// an expression, `// 2) @ w`: says so. For errors whose cause may be that comment.
bool NoteDivision(Diagnostic& diagnostic, uint32_t end, const SyntaxErrors& errors);

}  // namespace cgraph::syntax

#endif  // CGRAPH_COMPILER_SYNTAX_ERRORS_DIVISIONS_H_
