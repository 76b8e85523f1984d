#include "compiler/syntax/errors/misspelt.h"

#include "llvm/ADT/STLExtras.h"

namespace cgraph::syntax {
namespace {

constexpr size_t kDeclarations[] = {Lexer::IMPORT, Lexer::CONST, Lexer::TRANSPORT, Lexer::FN,
                                    Lexer::OP,     Lexer::ACTOR, Lexer::PLACE,     Lexer::GRAPH,
                                    Lexer::SCHEDULE, Lexer::TOPOLOGY};
constexpr size_t kMembers[] = {Lexer::STATE, Lexer::METHOD};
constexpr size_t kRules[] = {Lexer::PREFER, Lexer::ORDER, Lexer::LIMIT, Lexer::FUSE,
                             Lexer::MEMORY};
constexpr size_t kStatements[] = {Lexer::LET, Lexer::VAR, Lexer::FOR, Lexer::IF, Lexer::RETURN};

bool BeginsStatement(const Lexemes& lexemes, size_t at) {
  if (lexemes[at].first_on_line) return at == 0 || EndsOperand(lexemes[at - 1].type) ||
                                        lexemes[at - 1].type == Lexer::LBRACE ||
                                        lexemes[at - 1].type == Lexer::SEMICOLON;
  const size_t before = lexemes[at - 1].type;
  return before == Lexer::LBRACE || before == Lexer::RBRACE || before == Lexer::SEMICOLON;
}

bool Close(llvm::StringRef word, llvm::StringRef keyword) {
  return EditDistance(word, keyword) <= (keyword.size() < 5 ? 1u : 2u);
}

// What other languages write there.
struct Foreign {
  const char* word;
  size_t keyword;
};
constexpr Foreign kForeign[] = {
    {"def", Lexer::FN},       {"def", Lexer::METHOD},    {"func", Lexer::FN},
    {"func", Lexer::METHOD},  {"function", Lexer::FN},   {"function", Lexer::METHOD},
    {"fun", Lexer::FN},       {"fun", Lexer::METHOD},    {"class", Lexer::ACTOR},
    {"struct", Lexer::ACTOR}, {"include", Lexer::IMPORT}, {"use", Lexer::IMPORT},
    {"auto", Lexer::LET},     {"val", Lexer::LET},       {"mut", Lexer::VAR}};

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

void CorrectKeyword(Lexemes& lexemes, size_t at, Place place, bool at_margin,
                    SyntaxErrors& errors) {
  Lexeme& lexeme = lexemes[at];
  if (lexeme.type != Lexer::ID || place == Place::kExpression) return;
  const Lexeme& next = lexemes[at + 1];
  if (next.line != lexeme.line || !BeginsStatement(lexemes, at)) return;
  const llvm::StringRef word = errors.text().slice(lexeme.begin, lexeme.end);
  size_t keyword = antlr4::Token::INVALID_TYPE;
  if (IsName(next.type)) {
    // In a block too, whose end may be missing: no statement has two names before one of these.
    const size_t third = lexemes[std::min(at + 2, lexemes.size() - 1)].type;
    const bool like_member = third == Lexer::LPAREN || third == Lexer::COLON;
    if (place == Place::kActor || (place == Place::kBlock && like_member)) {
      keyword = Nearest(word, kMembers);
    }
    if (place == Place::kFile || (keyword == antlr4::Token::INVALID_TYPE && at_margin)) {
      keyword = Nearest(word, kDeclarations);
    }
  }
  if (place == Place::kSchedule && (IsName(next.type) || next.type == Lexer::LE)) {
    keyword = Nearest(word, kRules);
  }
  if (place == Place::kBlock && keyword == antlr4::Token::INVALID_TYPE &&
      (IsName(next.type) || IsLiteral(next.type))) {
    keyword = Nearest(word, kStatements);
  }
  if (keyword == antlr4::Token::INVALID_TYPE) return;
  Diagnostic* diagnostic = errors.ReportStructure(
      Code::kE0212, lexeme.begin, lexeme.end,
      "`" + word.str() + "` is no keyword; did you mean `" + FixedSpelling(keyword) + "`?");
  if (diagnostic != nullptr) {
    diagnostic->AddFix(errors.At(lexeme.begin, lexeme.end), FixedSpelling(keyword));
  }
  lexeme.type = keyword;
}

}  // namespace cgraph::syntax
