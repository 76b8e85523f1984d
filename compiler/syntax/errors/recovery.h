// Recovery: what the parser does when the text does not follow the grammar.
//
// ANTLR's own strategy guesses token by token and cascades. Here nothing is guessed: the error is
// described once, the rules are left up to the enclosing statement, member or declaration, and the
// parser goes on at the next one. Balance has made sure that its end can be found.
#ifndef CGRAPH_COMPILER_SYNTAX_ERRORS_RECOVERY_H_
#define CGRAPH_COMPILER_SYNTAX_ERRORS_RECOVERY_H_

#include "compiler/syntax/tokens.h"

namespace cgraph::syntax {

class Recovery : public antlr4::ANTLRErrorStrategy {
 public:
  Recovery(TokenWindow& window, SyntaxErrors& errors) : window_(window), errors_(errors) {}

  void reset(antlr4::Parser*) override { in_error_ = false; }
  antlr4::Token* recoverInline(antlr4::Parser* parser) override {
    throw antlr4::InputMismatchException(parser);
  }
  void recover(antlr4::Parser* parser, std::exception_ptr error) override;
  void sync(antlr4::Parser* parser) override;
  bool inErrorRecoveryMode(antlr4::Parser*) override { return in_error_; }
  void reportMatch(antlr4::Parser*) override { in_error_ = false; }
  void reportError(antlr4::Parser* parser, const antlr4::RecognitionException& error) override;

  // Skips from the current token to the next declaration or the end.
  void SkipToDeclaration();

 private:
  void SkipStatement(size_t begin, size_t error_at);
  // Skips from `begin` to the next member, rule of a schedule or part of a topology; `body` is the
  // grammar's rule that holds these.
  void SkipElement(size_t body, size_t begin);

  TokenWindow& window_;
  SyntaxErrors& errors_;
  bool in_error_ = false;
  size_t error_at_ = 0;  // of the last error: prediction may fail ahead of the stream's position
};

// Reports that lexemes[at] does not fit; `expected` is what ANTLR would have taken there, and
// `rule` what it was reading.
void ReportUnexpected(const Lexemes& lexemes, size_t at, const antlr4::misc::IntervalSet& expected,
                      size_t rule, SyntaxErrors& errors);

}  // namespace cgraph::syntax

#endif  // CGRAPH_COMPILER_SYNTAX_ERRORS_RECOVERY_H_
