// Balance: mends the brackets of a file before it is parsed.
//
// One missing bracket makes everything after it look wrong to a parser. So brackets are paired
// first, with the help of layout: a declaration at the left margin ends whatever is still open, a
// `let` ends an argument list. What is missing is reported and put in, what is too much is reported
// and dropped, and a word that starts a line where a keyword must stand, and nearly is one, becomes
// that keyword. After this an error of the parser is confined to one statement or declaration, and
// nesting is at most kMaxNesting.
#ifndef CGRAPH_COMPILER_SYNTAX_ERRORS_BALANCE_H_
#define CGRAPH_COMPILER_SYNTAX_ERRORS_BALANCE_H_

#include "compiler/syntax/tokens.h"

namespace cgraph::syntax {

// Returns false, with a diagnostic, when brackets are nested deeper than kMaxNesting.
bool Balance(Lexemes lexemes, SyntaxErrors& errors, Lexemes& balanced);

}  // namespace cgraph::syntax

#endif  // CGRAPH_COMPILER_SYNTAX_ERRORS_BALANCE_H_
