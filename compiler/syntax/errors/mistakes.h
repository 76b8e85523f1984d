// Mistakes that are known by their look: what is mended before the parser sees it, and what is said
// of it afterwards.
#ifndef CGRAPH_COMPILER_SYNTAX_ERRORS_MISTAKES_H_
#define CGRAPH_COMPILER_SYNTAX_ERRORS_MISTAKES_H_

#include "compiler/syntax/tokens.h"
#include "llvm/ADT/ArrayRef.h"

namespace cgraph::syntax {

// Balance: mends the brackets of a file before it is parsed.
//
// One missing bracket makes everything after it look wrong to a parser. So brackets are paired
// first, with the help of layout: a declaration at the left margin ends whatever is still open, a
// `let` ends an argument list. What is missing is reported and put in, what is too much is reported
// and dropped, and a word that starts a line where a keyword must stand, and nearly is one, becomes
// that keyword. After this an error of the parser is confined to one statement or declaration, and
// nesting is at most kMaxNesting.
//
// Returns false, with a diagnostic, when brackets are nested deeper than kMaxNesting.
bool Balance(Lexemes lexemes, SyntaxErrors& errors, Lexemes& balanced);

// ---- words that nearly are the keyword that must stand in their place

// What may stand at some point of a file: declarations, members, rules, statements; inside `(`,
// `[` and the `{` of properties an expression.
enum class SyntaxPosition : uint8_t { kFile, kActor, kSchedule, kBlock, kExpression, kTopology };

// `lett x = 1`: a name at the beginning of a statement with another word after it is legal nowhere.
// When it is close to a keyword of its place, reports it and makes it that keyword. `at_margin`: it
// stands as far left as declarations do, so one of those may be meant as well.
void CorrectKeyword(Lexemes& lexemes, size_t at, SyntaxPosition place, bool at_margin,
                    SyntaxErrors& errors);

// ---- what people write who come from Python or C, and how the same is written here

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
// Of those, the ones about types, and about clauses; ReportHabit() asks for them at their place.
bool ReportTypeHabit(const ParseFailure& failure, SyntaxErrors& errors);
bool ReportClauseHabit(const ParseFailure& failure, SyntaxErrors& errors);

// Returns what is said of a declaration that begins with this word and stands in a body; null for
// other words.
const char* DeclarationInBody(size_t word);

// ---- comments that may be meant as divisions: `x // 2` of Python is `x` here, and a comment

// Warns of every comment that follows an operand on its line and holds nothing but a number or the
// name of one of the file's consts. No word of prose is a warning.
void WarnOfDivisions(const Lexemes& lexemes, SyntaxErrors& errors);

// Where the text goes on after `end`, on the same line, with a comment that reads like the rest of
// an expression, `// 2) @ w`: says so. For errors whose cause may be that comment.
bool NoteDivision(Diagnostic& diagnostic, uint32_t end, const SyntaxErrors& errors);

// Where one of these lexemes is followed by a comment that holds an operand and then the bracket
// that is missing, `return x // 2 }`: says so.
bool NoteSwallowed(Diagnostic& diagnostic, llvm::ArrayRef<Lexeme> lexemes, char closer,
                   const SyntaxErrors& errors);

}  // namespace cgraph::syntax

#endif  // CGRAPH_COMPILER_SYNTAX_ERRORS_MISTAKES_H_
