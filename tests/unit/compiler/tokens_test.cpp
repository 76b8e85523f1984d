// The table of the lexer's DFA gives the tokens that ANTLR's lexer gives.
#include <catch2/catch.hpp>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "compiler/syntax/tokens.h"
#include "tests/support/parsed.h"

namespace cgraph::syntax {
namespace {

// "type begin end line column" of each token that a parser sees.
std::vector<std::string> ByAntlr(const std::string& text) {
  antlr4::ANTLRInputStream input(text);
  Lexer lexer(&input);
  lexer.removeErrorListeners();
  std::vector<std::string> tokens;
  while (true) {
    const std::unique_ptr<antlr4::Token> token = lexer.nextToken();
    if (token->getType() == antlr4::Token::EOF) return tokens;
    if (token->getChannel() != antlr4::Token::DEFAULT_CHANNEL) continue;
    tokens.push_back(fmt::format("{} {} {} {} {}", token->getType(), token->getStartIndex(),
                                 token->getStopIndex() + 1, token->getLine(),
                                 token->getCharPositionInLine()));
  }
}

std::vector<std::string> ByTable(const std::string& text) {
  Sources sources;
  Diagnostics diagnostics(sources);
  SyntaxErrors errors(sources.Add("test.cgraph", text), diagnostics);
  Lexemes lexemes;
  REQUIRE(Lex(errors.text(), 0, static_cast<uint32_t>(text.size()), errors, lexemes));
  REQUIRE(lexemes.back().type == antlr4::Token::EOF);
  CHECK(lexemes.back().begin == text.size());
  lexemes.pop_back();
  std::vector<std::string> tokens;
  for (const Lexeme& lexeme : lexemes) {
    tokens.push_back(fmt::format("{} {} {} {} {}", lexeme.type, lexeme.begin, lexeme.end,
                                 lexeme.line, uint32_t{lexeme.column}));
  }
  return tokens;
}

TEST_CASE("the table's tokens are the lexer's, whatever the text") {
  std::mt19937 random(1);
  std::string all;
  for (const auto& path : testing::Programs({"examples", "stdlib", "tests/syntax"})) {
    std::string text = testing::ReadText(path);
    std::replace_if(text.begin(), text.end(), [](char c) { return c < 0; }, '?');
    CHECK(ByTable(text) == ByAntlr(text));
    all += text;
  }
  REQUIRE(all.size() > 10'000);
  const std::string odd = "\"'\\/*\n\r\t .0x9_eE+-<>=@#$?~KiB\x7f";
  for (int i = 0; i < 2'000; ++i) {
    // A piece of the programs, cut anywhere, with a few bytes that are others.
    std::string text = all.substr(random() % all.size(), random() % 200);
    for (size_t k = random() % 4; k > 0 && !text.empty(); --k) {
      text[random() % text.size()] = odd[random() % odd.size()];
    }
    INFO(text);
    CHECK(ByTable(text) == ByAntlr(text));
  }
}

TEST_CASE("what is no ASCII stands at its bytes") {
  for (int again = 0; again < 2; ++again) {
    CHECK(ByTable("/* \xc3\xa9 */ let // \xc3\xa9\n \"\xe2\x82\xac\" x") ==
          std::vector<std::string>{fmt::format("{} 9 12 1 9", size_t{Lexer::LET}),
                                   fmt::format("{} 20 25 2 1", size_t{Lexer::STRING}),
                                   fmt::format("{} 26 27 2 7", size_t{Lexer::ID})});
  }
}

}  // namespace
}  // namespace cgraph::syntax
