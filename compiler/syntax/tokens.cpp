#include "compiler/syntax/tokens.h"

#include <mutex>

#include "compiler/base/limits.h"
#include "compiler/syntax/lexer_table.h"

namespace cgraph::syntax {
namespace {

// ByteStream: bytes as characters: ranges are byte offsets, and text that is not UTF-8 does no
// harm.
class ByteStream : public antlr4::CharStream {
 public:
  ByteStream(llvm::StringRef text, size_t begin, size_t end)
      : text_(text), index_(begin), end_(end) {}

  void consume() override { index_ += index_ < end_ ? 1 : 0; }
  size_t LA(ssize_t offset) override {
    if (offset == 0) return 0;
    const size_t at = index_ + static_cast<size_t>(offset > 0 ? offset - 1 : offset);
    return at < end_ ? static_cast<unsigned char>(text_[at]) : antlr4::IntStream::EOF;
  }
  ssize_t mark() override { return 0; }
  void release(ssize_t) override {}
  size_t index() override { return index_; }
  void seek(size_t index) override { index_ = index; }
  size_t size() override { return end_; }
  std::string getSourceName() const override { return ""; }
  std::string getText(const antlr4::misc::Interval&) override { return ""; }
  std::string toString() const override { return ""; }

 private:
  llvm::StringRef text_;
  size_t index_;
  size_t end_;
};

void CheckComment(llvm::StringRef comment, uint32_t begin, SyntaxErrors& errors) {
  if (comment.size() >= 4 && comment.endswith("*/")) return;
  errors.ReportStructure(Code::kE0210, begin, begin + 2,
                         "this comment is not closed; write `*/` at its end");
}

// Tokens one after the other: from the table, or what it lacks from ANTLR.
class Tokenizer {
 public:
  struct Token {
    size_t type = antlr4::Token::EOF;
    uint32_t begin = 0, end = 0;
    bool hidden = false;
  };

  Tokenizer(llvm::StringRef text, uint32_t begin, uint32_t end)
      : text_(text), at_(begin), end_(end), bytes_(text, begin, end), lexer_(&bytes_),
        line_begin_(begin), counted_(begin), lock_(TableMutex()) {}

  Token Next() {
    Token token;
    if (at_ == end_) {
      token.begin = token.end = end_;
    } else {
      token = FromTable();
      if (token.type == antlr4::Token::INVALID_TYPE) token = FromAntlr();
    }
    CountLines(token.begin);
    at_ = token.end;
    return token;
  }
  // Where the last token begins.
  uint32_t line() const { return line_; }             // from 1
  uint32_t column() const { return counted_ - line_begin_; }  // from 0

 private:
  // One table for all texts, as ANTLR's DFA is; the thread that reads a text holds it.
  static std::mutex& TableMutex() {
    static std::mutex mutex;
    return mutex;
  }

  Token FromTable() {
    static LexerTable table;
    const LexerTable::Token found = table.Find(text_.slice(at_, end_), lexer_);
    return {found.type, at_, at_ + static_cast<uint32_t>(found.length), found.hidden};
  }

  Token FromAntlr() {
    bytes_.seek(at_);
    const std::unique_ptr<antlr4::Token> token = lexer_.nextToken();
    if (token->getType() == antlr4::Token::EOF) return {antlr4::Token::EOF, end_, end_, false};
    return {token->getType(), static_cast<uint32_t>(token->getStartIndex()),
            static_cast<uint32_t>(token->getStopIndex() + 1),
            token->getChannel() != antlr4::Token::DEFAULT_CHANNEL};
  }

  void CountLines(uint32_t to) {
    for (; counted_ < to; ++counted_) {
      if (text_[counted_] != '\n') continue;
      ++line_;
      line_begin_ = counted_ + 1;
    }
  }

  llvm::StringRef text_;
  uint32_t at_, end_;
  ByteStream bytes_;
  Lexer lexer_;
  uint32_t line_ = 1, line_begin_, counted_;
  std::lock_guard<std::mutex> lock_;
};

}  // namespace

bool Lex(llvm::StringRef text, uint32_t begin, uint32_t end, SyntaxErrors& errors,
         Lexemes& lexemes) {
  Tokenizer tokenizer(text, begin, end);
  uint32_t last_line = 0;
  while (true) {
    const Tokenizer::Token token = tokenizer.Next();
    Lexeme lexeme;
    lexeme.type = token.type;
    lexeme.begin = token.begin;
    lexeme.end = token.end;
    lexeme.line = tokenizer.line();
    lexeme.column = tokenizer.column();
    lexeme.first_on_line = lexeme.line != last_line;
    if (lexeme.type == antlr4::Token::EOF) {
      lexemes.push_back(lexeme);
      return true;
    }
    if (token.hidden) {
      if (lexeme.type == Lexer::BLOCK_COMMENT) {
        CheckComment(text.slice(lexeme.begin, lexeme.end), lexeme.begin, errors);
      }
      continue;
    }
    if (lexemes.size() == static_cast<size_t>(kMaxTokens)) {
      errors.Report(Code::kE0104, lexeme.begin, lexeme.end,
                    "this file has more than " + std::to_string(kMaxTokens) +
                        " tokens; split it and import the parts");
      return false;
    }
    last_line = lexeme.line;
    lexemes.push_back(lexeme);
  }
}

bool IsName(size_t type) {
  return type == Lexer::ID || (type >= Lexer::ALONG && type <= Lexer::WRITES);
}

bool IsKeyword(size_t type) {
  return (type >= Lexer::ACTOR && type <= Lexer::VIA) || type == Lexer::DTYPE;
}

bool IsLiteral(size_t type) {
  switch (type) {
    case Lexer::INT:
    case Lexer::FLOAT:
    case Lexer::QUANTITY:
    case Lexer::BAD_NUMBER:
    case Lexer::STRING:
    case Lexer::TRUE:
    case Lexer::FALSE:
      return true;
    default:
      return false;
  }
}

bool EndsOperand(size_t type) {
  return IsName(type) || IsLiteral(type) || type == Lexer::DTYPE || type == Lexer::RPAREN ||
         type == Lexer::RBRACKET || type == Lexer::RBRACE;
}

const char* FixedSpelling(size_t type) {
  // ANTLR's vocabulary spells a literal token as 'let', with its quotes.
  static const std::vector<std::string>* const kSpellings = [] {
    Lexer lexer(nullptr);
    const antlr4::dfa::Vocabulary& vocabulary = lexer.getVocabulary();
    auto* spellings = new std::vector<std::string>;
    for (size_t t = 0; t <= Lexer::OTHER; ++t) {
      std::string name = vocabulary.getLiteralName(t);
      spellings->push_back(name.size() > 2 ? name.substr(1, name.size() - 2) : "");
    }
    return spellings;
  }();
  if (type >= kSpellings->size() || (*kSpellings)[type].empty()) return nullptr;
  return (*kSpellings)[type].c_str();
}

bool StartsDeclaration(const Lexemes& lexemes, size_t at) {
  if (at + 2 >= lexemes.size()) return false;
  const Lexeme& lexeme = lexemes[at];
  const bool named = IsName(lexemes[at + 1].type) ||
                     (lexeme.type == Lexer::OP && lexemes[at + 1].type == Lexer::CAST);
  if (!named) return false;
  const size_t before = at == 0 ? size_t{Lexer::RBRACE} : lexemes[at - 1].type;
  if (!lexeme.first_on_line && before != Lexer::RBRACE && before != Lexer::SEMICOLON) return false;
  const size_t third = lexemes[at + 2].type;
  switch (lexeme.type) {
    case Lexer::IMPORT:
    case Lexer::CONST:
    case Lexer::TRANSPORT:
    case Lexer::FN:
    case Lexer::ACTOR:
    case Lexer::GRAPH:
    case Lexer::SCHEDULE:
    case Lexer::TOPOLOGY:
      return true;
    case Lexer::OPTIMIZER:
      return lexeme.first_on_line || third == Lexer::LPAREN || third == Lexer::LT ||
             third == Lexer::LBRACE;
    case Lexer::OP:
      return lexeme.first_on_line || third == Lexer::LPAREN || third == Lexer::LT;
    case Lexer::TYPE:
      return lexeme.first_on_line || third == Lexer::ASSIGN || third == Lexer::LPAREN;
    case Lexer::PLACE:
      return lexeme.first_on_line || third == Lexer::ASSIGN || third == Lexer::LBRACKET;
    default:
      return false;
  }
}

bool StartsMember(const Lexemes& lexemes, size_t at) {
  if (at + 2 >= lexemes.size() || !IsName(lexemes[at + 1].type)) return false;
  const size_t type = lexemes[at].type;
  const size_t third = lexemes[at + 2].type;
  // `state w = e` lacks its type, which is reported where the declaration is read.
  const bool untyped = third == Lexer::ASSIGN && lexemes[at].first_on_line &&
                       lexemes[at + 1].line == lexemes[at].line;
  return (type == Lexer::METHOD && third == Lexer::LPAREN) ||
         ((type == Lexer::STATE || type == Lexer::PARAM) &&
          (third == Lexer::COLON || untyped));
}

bool StartsRule(const Lexemes& lexemes, size_t at) {
  if (at + 1 >= lexemes.size()) return false;
  const size_t next = lexemes[at + 1].type;
  switch (lexemes[at].type) {
    case Lexer::PREFER:
    case Lexer::ORDER:
    case Lexer::FUSE:
      return IsName(next);
    case Lexer::LIMIT:
      return IsName(next) || IsLiteral(next) || next == Lexer::LPAREN;
    case Lexer::MEMORY:
      return next == Lexer::LE;
    default:
      return false;
  }
}

bool StartsPart(const Lexemes& lexemes, size_t at) {
  const size_t type = lexemes[at].type;
  const bool word = type == Lexer::DEVICE || type == Lexer::RESOURCE || type == Lexer::LINK;
  if (!word || at + 1 >= lexemes.size()) return false;
  const size_t next = lexemes[at + 1].type;
  return IsName(next) || IsLiteral(next) || next == Lexer::LPAREN;
}

void TokenWindow::Forget() {
  made_.clear();
  tokens_.clear();
  base_ = index_ == 0 ? 0 : index_ - 1;
}

size_t TokenWindow::At(ssize_t offset) const {
  const size_t last = lexemes_.size() - 1;
  if (offset > 0) return std::min(index_ + static_cast<size_t>(offset) - 1, last);
  const size_t back = static_cast<size_t>(-offset);
  return back > index_ ? 0 : index_ - back;
}

antlr4::Token* TokenWindow::get(size_t index) const {
  while (base_ + tokens_.size() <= index) {
    const Lexeme& lexeme = lexemes_[base_ + tokens_.size()];
    antlr4::CommonToken& token = made_.emplace_back(lexeme.type);
    tokens_.push_back(&token);
    token.setStartIndex(lexeme.begin);
    token.setStopIndex(static_cast<size_t>(lexeme.end) - 1);
    token.setLine(lexeme.line);
    token.setTokenIndex(base_ + tokens_.size() - 1);
  }
  return tokens_[index - base_];
}

}  // namespace cgraph::syntax
