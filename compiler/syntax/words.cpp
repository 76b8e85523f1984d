#include "compiler/syntax/words.h"

#include "compiler/syntax/tokens.h"

namespace cgraph::syntax {
namespace {

WordKind KindOf(size_t type) {
  if (type == antlr4::Token::EOF) return WordKind::kEnd;
  if (IsName(type)) return WordKind::kName;
  if (IsLiteral(type)) return WordKind::kLiteral;
  return IsKeyword(type) ? WordKind::kKeyword : WordKind::kSign;
}

}  // namespace

std::vector<Word> CutWords(SourceId source, Diagnostics& diagnostics) {
  SyntaxErrors errors(source, diagnostics);
  const llvm::StringRef text = errors.text();
  Lexemes lexemes;
  Lex(text, FirstCharacter(text), static_cast<uint32_t>(text.size()), errors, lexemes);
  std::vector<Word> words;
  words.reserve(lexemes.size());
  for (const Lexeme& lexeme : lexemes) {
    words.push_back({KindOf(lexeme.type), lexeme.begin, lexeme.end});
  }
  return words;
}

}  // namespace cgraph::syntax
