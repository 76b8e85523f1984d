// Tokens: a source text cut into lexemes, and the stream of them that ANTLR's parser reads.
//
// A lexeme is 24 bytes where ANTLR's token is 150, so ANTLR's are made only for the item that is
// being parsed and dropped after it: a file of millions of tokens stays affordable. Positions are
// bytes, because the lexer is fed bytes.
#ifndef CGRAPH_COMPILER_SYNTAX_TOKENS_H_
#define CGRAPH_COMPILER_SYNTAX_TOKENS_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "compiler/syntax/antlr.h"
#include "compiler/syntax/errors/errors.h"
#include "llvm/ADT/StringRef.h"

namespace cgraph::syntax {

struct Lexeme {
  size_t type = antlr4::Token::EOF;  // CgraphLexer::LPAREN, ...
  uint32_t begin = 0, end = 0;       // bytes of the source; empty when the parser made it up
  uint32_t line = 0;                 // from 1
  uint32_t column : 31 = 0;          // from 0
  uint32_t first_on_line : 1 = 0;
};
using Lexemes = std::vector<Lexeme>;

// Cuts text[begin, end) and ends the list with EOF. An open comment is reported. Returns false,
// with a diagnostic, when there are more than kMaxTokens.
bool Lex(llvm::StringRef text, uint32_t begin, uint32_t end, SyntaxErrors& errors,
         Lexemes& lexemes);

// Returns where the text begins: after a byte order mark.
inline uint32_t FirstCharacter(llvm::StringRef text) {
  return text.startswith("\xef\xbb\xbf") ? 3 : 0;
}

bool IsName(size_t type);        // an identifier, or a word that may be one
bool IsLiteral(size_t type);
bool EndsOperand(size_t type);   // what follows on the same line would continue it
bool IsKeyword(size_t type);     // a word that cannot be a name
const char* FixedSpelling(size_t type);  // of a keyword or an operator; else nullptr

// Return whether the lexemes from `at` on begin a declaration, a member of an actor, a rule of a
// schedule. At least two of them decide, so that `state`, `place` and `limit` stay usable as names.
bool StartsDeclaration(const Lexemes& lexemes, size_t at);
bool StartsMember(const Lexemes& lexemes, size_t at);

// The words that a statement begins with; others begin with a name.
inline constexpr size_t kStatementWords[] = {Lexer::LET, Lexer::VAR, Lexer::FOR, Lexer::IF,
                                             Lexer::RETURN, Lexer::YIELD};
bool StartsRule(const Lexemes& lexemes, size_t at);
bool StartsPart(const Lexemes& lexemes, size_t at);  // of a topology

// TokenWindow: the view that ANTLR's parser gets.
class TokenWindow : public antlr4::TokenStream {
 public:
  explicit TokenWindow(const Lexemes& lexemes) : lexemes_(lexemes) {}

  // Drops the tokens made so far, except the last one before the current position.
  void Forget();
  const Lexemes& lexemes() const { return lexemes_; }

  void consume() override { index_ += index_ + 1 < lexemes_.size() ? 1 : 0; }
  size_t LA(ssize_t offset) override { return lexemes_[At(offset)].type; }
  antlr4::Token* LT(ssize_t offset) override { return get(At(offset)); }
  antlr4::Token* get(size_t index) const override;
  ssize_t mark() override { return 0; }
  void release(ssize_t) override {}
  size_t index() override { return index_; }
  void seek(size_t index) override { index_ = index; }
  size_t size() override { return lexemes_.size(); }
  std::string getSourceName() const override { return ""; }
  antlr4::TokenSource* getTokenSource() const override { return nullptr; }
  std::string getText(const antlr4::misc::Interval&) override { return ""; }
  std::string getText() override { return ""; }
  std::string getText(antlr4::RuleContext*) override { return ""; }
  std::string getText(antlr4::Token*, antlr4::Token*) override { return ""; }

 private:
  size_t At(ssize_t offset) const;

  const Lexemes& lexemes_;
  size_t index_ = 0;
  mutable size_t base_ = 0;  // lexeme of tokens_[0]
  mutable std::vector<antlr4::CommonToken*> tokens_;
  mutable std::deque<antlr4::CommonToken> made_;  // that they point to
};

}  // namespace cgraph::syntax

#endif  // CGRAPH_COMPILER_SYNTAX_TOKENS_H_
