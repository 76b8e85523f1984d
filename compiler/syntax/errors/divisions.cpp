#include "compiler/syntax/errors/mistakes.h"

#include <fmt/format.h>

#include <optional>

#include "llvm/ADT/StringExtras.h"

namespace cgraph::syntax {
namespace {

// A comment behind an operand.
struct Comment {
  uint32_t begin = 0;    // of its `//`
  llvm::StringRef text;  // without blanks around it
};

std::optional<Comment> CommentAfter(llvm::StringRef text, uint32_t end) {
  const size_t begin = text.find_first_not_of(" \t", end);
  if (begin == llvm::StringRef::npos || !text.drop_front(begin).startswith("//")) {
    return std::nullopt;
  }
  const size_t last = text.find_first_of("\r\n", begin);
  return Comment{static_cast<uint32_t>(begin), text.slice(begin + 2, last).trim()};
}

llvm::StringRef FirstWord(llvm::StringRef text) {
  return text.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
}

bool IsNumber(llvm::StringRef text) {
  return !text.empty() && llvm::all_of(text, [](char c) { return llvm::isDigit(c) || c == '_'; });
}

constexpr const char* kDivide =
    "`//` begins a comment; `/` divides, and of compile-time integers it rounds down";

}  // namespace

void WarnOfDivisions(const Lexemes& lexemes, SyntaxErrors& errors) {
  std::set<llvm::StringRef> consts;
  for (size_t i = 0; i + 1 < lexemes.size(); ++i) {
    if (lexemes[i].type != Lexer::CONST || !IsName(lexemes[i + 1].type)) continue;
    consts.insert(errors.text().slice(lexemes[i + 1].begin, lexemes[i + 1].end));
  }
  for (size_t i = 0; i + 1 < lexemes.size(); ++i) {
    const Lexeme& lexeme = lexemes[i];
    const bool last_on_line = lexemes[i + 1].first_on_line ||
                              lexemes[i + 1].type == antlr4::Token::EOF;
    if (!last_on_line || !EndsOperand(lexeme.type) || lexeme.type == Lexer::RBRACE) continue;
    const std::optional<Comment> comment = CommentAfter(errors.text(), lexeme.end);
    if (!comment || !(IsNumber(comment->text) || consts.count(comment->text) != 0)) continue;
    errors
        .Warn(Code::kW0201, comment->begin, comment->begin + 2,
              fmt::format("this is a comment, and nothing is divided by {}: {}",
                          comment->text.str(), kDivide))
        .AddFix(errors.At(comment->begin, comment->begin + 2), "/");
  }
}

bool NoteDivision(Diagnostic& diagnostic, uint32_t end, const SyntaxErrors& errors) {
  const std::optional<Comment> comment = CommentAfter(errors.text(), end);
  if (!comment) return false;
  const llvm::StringRef word = FirstWord(comment->text);
  const llvm::StringRef rest = comment->text.drop_front(word.size()).ltrim();
  const bool goes_on = rest.empty() ? IsNumber(word)
                                    : llvm::StringRef(")],*/%@+-").contains(rest.front());
  if (word.empty() || !goes_on) return false;
  diagnostic.AddNote(errors.At(comment->begin, comment->begin + 2), kDivide);
  return true;
}

}  // namespace cgraph::syntax
