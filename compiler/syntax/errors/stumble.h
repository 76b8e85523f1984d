// Where the parser got stuck: the lexeme that does not fit and its neighbours, what the parser
// expected there, and what is said of it.
#ifndef CGRAPH_COMPILER_SYNTAX_ERRORS_STUMBLE_H_
#define CGRAPH_COMPILER_SYNTAX_ERRORS_STUMBLE_H_

#include <string>
#include <utility>

#include "compiler/syntax/errors/mistakes.h"

namespace cgraph::syntax {

class Stumble {
 public:
  Stumble(const ParseFailure& failure, SyntaxErrors& errors)
      : lexemes_(failure.lexemes),
        at_(failure.at),
        expected_(failure.expected),
        rule_(failure.rule),
        errors_(errors) {}

 protected:
  using Code = cgraph::Code;

  const Lexeme& now() const { return lexemes_[at_]; }
  size_t type() const { return now().type; }
  size_t TypeAt(ptrdiff_t offset) const {
    const ptrdiff_t at = static_cast<ptrdiff_t>(at_) + offset;
    const bool exists = at >= 0 && at < static_cast<ptrdiff_t>(lexemes_.size());
    return exists ? lexemes_[at].type : size_t{antlr4::Token::EOF};
  }
  llvm::StringRef TextAt(ptrdiff_t offset) const {
    if (TypeAt(offset) == antlr4::Token::EOF) return "";
    const Lexeme& lexeme = lexemes_[at_ + offset];
    return errors_.text().slice(lexeme.begin, lexeme.end);
  }
  // Returns the word that begins the line where the parser got stuck.
  size_t LineWord() const {
    ptrdiff_t offset = 0;
    while (-offset < static_cast<ptrdiff_t>(at_) && !lexemes_[at_ + offset].first_on_line) --offset;
    return TypeAt(offset);
  }
  // Returns the word that began the head in which the parser got stuck: `fn`, `if`.
  size_t HeadWord() const {
    for (ptrdiff_t offset = -1; TypeAt(offset) != antlr4::Token::EOF; --offset) {
      switch (TypeAt(offset)) {
        case Lexer::LBRACE:
        case Lexer::RBRACE:
          return antlr4::Token::INVALID_TYPE;
        case Lexer::FN:
        case Lexer::METHOD:
        case Lexer::GRAPH:
        case Lexer::SCHEDULE:
        case Lexer::TOPOLOGY:
        case Lexer::IF:
        case Lexer::FOR:
        case Lexer::ELSE:
          return TypeAt(offset);
        default:
          break;
      }
    }
    return antlr4::Token::INVALID_TYPE;
  }
  bool Expects(size_t type) const { return expected_.contains(type); }
  bool JoinsBefore() const { return at_ > 0 && lexemes_[at_ - 1].end == now().begin; }

  bool Say(std::string message, Code code = Code::kE0201) {
    errors_.ReportStructure(code, now().begin, now().end, std::move(message));
    return true;
  }
  bool SayWithFix(std::string message, uint32_t begin, uint32_t end, std::string fix) {
    Diagnostic* diagnostic =
        errors_.ReportStructure(Code::kE0201, now().begin, now().end, std::move(message));
    if (diagnostic != nullptr) diagnostic->AddFix(errors_.At(begin, end), std::move(fix));
    return true;
  }

  const Lexemes& lexemes_;
  const size_t at_;
  const antlr4::misc::IntervalSet& expected_;
  const size_t rule_;
  SyntaxErrors& errors_;
};

}  // namespace cgraph::syntax

#endif  // CGRAPH_COMPILER_SYNTAX_ERRORS_STUMBLE_H_
