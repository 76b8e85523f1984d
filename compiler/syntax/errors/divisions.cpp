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

bool IsWordCharacter(char c) { return llvm::isAlnum(c) || c == '_'; }

llvm::StringRef FirstWord(llvm::StringRef text) {
  return text.take_while(IsWordCharacter);
}

bool IsNumber(llvm::StringRef text) {
  return !text.empty() && llvm::all_of(text, [](char c) { return llvm::isDigit(c) || c == '_'; });
}

constexpr const char* kDivide =
    "`//` begins a comment; `/` divides, and of integers it rounds down";

// Returns whether two words follow each other, as in prose and in no operand: `the first`.
bool HasTwoWordsInARow(llvm::StringRef text) {
  for (size_t blank = text.find(' '); blank != llvm::StringRef::npos;
       blank = text.find(' ', blank + 1)) {
    const llvm::StringRef after = text.drop_front(blank).ltrim();
    const bool before = blank > 0 && IsWordCharacter(text[blank - 1]);
    if (before && !after.empty() && IsWordCharacter(after.front())) return true;
  }
  return false;
}

// Returns whether the text is an operand and then a bracket that closes none of its own, `2 }`.
bool IsOperandBefore(char closer, llvm::StringRef text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (llvm::StringRef("([{").contains(text[i])) ++depth;
    if (!llvm::StringRef(")]}").contains(text[i]) || --depth >= 0) continue;
    depth = 0;
    if (text[i] != closer) continue;  // of another bracket that the comment has swallowed
    const llvm::StringRef operand = text.take_front(i).trim();
    return !operand.empty() && !HasTwoWordsInARow(operand);
  }
  return false;
}

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

bool NoteSwallowed(Diagnostic& diagnostic, llvm::ArrayRef<Lexeme> lexemes, char closer,
                   const SyntaxErrors& errors) {
  for (const Lexeme& lexeme : lexemes) {
    if (!EndsOperand(lexeme.type)) continue;
    const std::optional<Comment> comment = CommentAfter(errors.text(), lexeme.end);
    if (!comment || !IsOperandBefore(closer, comment->text)) continue;
    diagnostic.AddNote(errors.At(comment->begin, comment->begin + 2), kDivide);
    return true;
  }
  return false;
}

}  // namespace cgraph::syntax
