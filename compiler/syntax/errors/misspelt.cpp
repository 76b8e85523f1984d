#include "compiler/syntax/errors/mistakes.h"

#include "llvm/ADT/STLExtras.h"
#include "runtime/base/text.h"

namespace cgraph::syntax {
namespace {

constexpr size_t kDeclarations[] = {
    Lexer::IMPORT, Lexer::CONST, Lexer::TRANSPORT, Lexer::FN,       Lexer::OP,        Lexer::ACTOR,
    Lexer::PLACE,  Lexer::GRAPH, Lexer::SCHEDULE,  Lexer::TOPOLOGY, Lexer::OPTIMIZER, Lexer::TYPE};
constexpr size_t kMemberWords[] = {Lexer::STATE, Lexer::PARAM, Lexer::METHOD};
constexpr size_t kRuleWords[] = {Lexer::PREFER, Lexer::ORDER, Lexer::LIMIT, Lexer::FUSE,
                                Lexer::MEMORY};
constexpr size_t kPartWords[] = {Lexer::DEVICE, Lexer::RESOURCE, Lexer::LINK};

bool BeginsStatement(const Lexemes& lexemes, size_t at) {
  // `grad by`, `trained by` and `repeat until` go on, though `by` and `until` may be names.
  if (at >= 2) {
    const size_t first = lexemes[at - 2].type, last = lexemes[at - 1].type;
    if (last == Lexer::BY && (first == Lexer::GRAD || first == Lexer::TRAINED)) return false;
    if (last == Lexer::UNTIL && first == Lexer::REPEAT) return false;
  }
  if (lexemes[at].first_on_line)
    return at == 0 || EndsOperand(lexemes[at - 1].type) || lexemes[at - 1].type == Lexer::LBRACE ||
           lexemes[at - 1].type == Lexer::SEMICOLON;
  const size_t before = lexemes[at - 1].type;
  return before == Lexer::LBRACE || before == Lexer::RBRACE || before == Lexer::SEMICOLON;
}

bool Close(llvm::StringRef word, llvm::StringRef keyword) {
  return EditDistance(word, keyword) <= (keyword.size() < 5 ? 1u : 2u);
}

// Foreign: a word that other languages write, and the word here.
struct Foreign {
  const char* word;
  size_t keyword;
};
constexpr Foreign kForeign[] = {
    {"def", Lexer::FN},       {"def", Lexer::METHOD},     {"func", Lexer::FN},
    {"func", Lexer::METHOD},  {"function", Lexer::FN},    {"function", Lexer::METHOD},
    {"fun", Lexer::FN},       {"fun", Lexer::METHOD},     {"class", Lexer::ACTOR},
    {"struct", Lexer::ACTOR}, {"include", Lexer::IMPORT}, {"use", Lexer::IMPORT},
    {"auto", Lexer::LET},     {"val", Lexer::LET},        {"mut", Lexer::VAR},
    {"typedef", Lexer::TYPE}, {"alias", Lexer::TYPE}};

// Absent: a word of another language that has no counterpart here, and what to write instead.
struct Absent {
  const char* word;
  size_t like;  // the keyword as which the parser goes on
  const char* mend;
};
constexpr Absent kAbsent[] = {
    {"while", Lexer::FOR,
     "loops run while compiling, over a range or a list: for i in 0..n; rounds at the end of a "
     "graph go on until a value says so: repeat until done limit 20"},
    {"elif", Lexer::IF, "write `else if`"},
    {"switch", Lexer::IF, "write `if`, `else if`, `else`"},
    {"match", Lexer::IF, "write `if`, `else if`, `else`"},
    {"raise", Lexer::RETURN, "check(c, \"text\") of std.debug fails a call"},
    {"throw", Lexer::RETURN, "check(c, \"text\") of std.debug fails a call"},
    {"await", Lexer::RETURN,
     "calls run as soon as their arguments are there; `after` adds an order"},
};

// Reports `while i < n`, `while (c)`, with what to write instead.
bool RefuseAbsent(Lexeme& lexeme, const Lexeme& next, llvm::StringRef word, SyntaxErrors& errors) {
  if (!IsName(next.type) && !IsLiteral(next.type) && next.type != Lexer::LPAREN &&
      next.type != Lexer::NOT) {
    return false;
  }
  for (const Absent& absent : kAbsent) {
    if (word != absent.word) continue;
    errors.ReportStructure(Code::kE0212, lexeme.begin, lexeme.end,
                           "there is no `" + word.str() + "`; " + absent.mend);
    if (next.type != Lexer::LPAREN) lexeme.type = absent.like;
    return true;
  }
  return false;
}

// Handles `fn f(...)` and `let w = ...` inside an actor.
size_t AsMember(size_t type) {
  if (type == Lexer::FN || type == Lexer::GRAPH) return Lexer::METHOD;
  if (type == Lexer::LET || type == Lexer::VAR) return Lexer::STATE;
  return antlr4::Token::INVALID_TYPE;
}

size_t Nearest(llvm::StringRef word, llvm::ArrayRef<size_t> keywords) {
  for (const Foreign& foreign : kForeign) {
    if (word == foreign.word && llvm::is_contained(keywords, foreign.keyword)) {
      return foreign.keyword;
    }
  }
  for (size_t keyword : keywords) {
    if (Close(word, FixedSpelling(keyword))) return keyword;
  }
  return antlr4::Token::INVALID_TYPE;
}

}  // namespace

void CorrectKeyword(Lexemes& lexemes, size_t at, SyntaxPosition place, bool at_margin,
                    SyntaxErrors& errors) {
  Lexeme& lexeme = lexemes[at];
  const bool member = place == SyntaxPosition::kActor && !at_margin &&
                      AsMember(lexeme.type) != antlr4::Token::INVALID_TYPE;
  if ((lexeme.type != Lexer::ID && !member) || place == SyntaxPosition::kExpression) return;
  const Lexeme& next = lexemes[at + 1];
  if (next.line != lexeme.line || !BeginsStatement(lexemes, at)) return;
  const llvm::StringRef word = errors.text().slice(lexeme.begin, lexeme.end);
  if (place == SyntaxPosition::kBlock && RefuseAbsent(lexeme, next, word, errors)) return;
  size_t keyword = antlr4::Token::INVALID_TYPE;
  if (member) {
    if (IsName(next.type)) keyword = AsMember(lexeme.type);
  } else if (IsName(next.type)) {
    // This holds in a block too, whose end may be missing: no statement has two names before one of
    // these.
    const size_t third = lexemes[std::min(at + 2, lexemes.size() - 1)].type;
    const bool like_member = third == Lexer::LPAREN || third == Lexer::COLON;
    if (place == SyntaxPosition::kActor || (place == SyntaxPosition::kBlock && like_member)) {
      keyword = Nearest(word, kMemberWords);
    }
    if (place == SyntaxPosition::kFile || (keyword == antlr4::Token::INVALID_TYPE && at_margin)) {
      keyword = Nearest(word, kDeclarations);
    }
  }
  if (place == SyntaxPosition::kSchedule && (IsName(next.type) || next.type == Lexer::LE)) {
    keyword = Nearest(word, kRuleWords);
  }
  if (place == SyntaxPosition::kTopology && IsName(next.type)) keyword = Nearest(word, kPartWords);
  if (place == SyntaxPosition::kBlock && keyword == antlr4::Token::INVALID_TYPE &&
      (IsName(next.type) || IsLiteral(next.type))) {
    keyword = Nearest(word, kStatementWords);
  }
  if (keyword == antlr4::Token::INVALID_TYPE) return;
  Diagnostic* diagnostic = errors.ReportStructure(
      Code::kE0212, lexeme.begin, lexeme.end,
      (member ? "an actor has no `" + word.str() + "`" : "`" + word.str() + "` is no keyword") +
          "; did you mean `" + FixedSpelling(keyword) + "`?");
  if (diagnostic != nullptr) {
    diagnostic->AddFix(errors.At(lexeme.begin, lexeme.end), FixedSpelling(keyword));
  }
  lexeme.type = keyword;
}

}  // namespace cgraph::syntax
