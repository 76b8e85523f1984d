// Words that nearly are the keyword that must stand in their place.
#ifndef CGRAPH_COMPILER_SYNTAX_ERRORS_MISSPELT_H_
#define CGRAPH_COMPILER_SYNTAX_ERRORS_MISSPELT_H_

#include "compiler/syntax/tokens.h"

namespace cgraph::syntax {

// What may stand at some point of a file: declarations, members, rules, statements; inside `(`,
// `[` and the `{` of properties an expression.
enum class SyntaxPosition : uint8_t { kFile, kActor, kSchedule, kBlock, kExpression, kTopology };

// `lett x = 1`: a name at the beginning of a statement with another word after it is legal nowhere.
// When it is close to a keyword of its place, reports it and makes it that keyword. `at_margin`: it
// stands as far left as declarations do, so one of those may be meant as well.
void CorrectKeyword(Lexemes& lexemes, size_t at, SyntaxPosition place, bool at_margin,
                    SyntaxErrors& errors);

}  // namespace cgraph::syntax

#endif  // CGRAPH_COMPILER_SYNTAX_ERRORS_MISSPELT_H_
